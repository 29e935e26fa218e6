// SPDX-License-Identifier: MIT
#include "shared/pools.hpp"

#include "text/listing.hpp"

#include <algorithm>
#include <filesystem>

namespace tool
{
namespace
{

void remember(const egb_shared_attachment* one, void* user)
{
    static_cast<seen_pool*>(user)->attachments.push_back(*one);
}

}  // namespace

std::vector<seen_pool> all_pools()
{
    const std::string      prefix = "eggbox-";
    std::vector<seen_pool> pools;
    std::error_code        ignored;
    for (const auto& file : entries_of("/dev/shm", ignored)) {
        const std::string base = file.path().filename().string();
        if (base.rfind(prefix, 0) == 0) {
            seen_pool one;
            one.name   = base.substr(prefix.size());
            one.status = egb_shared_look(one.name.c_str(), &one.numbers, remember, &one);
            if (one.status != EGB_STALE) {
                pools.push_back(std::move(one));
            }
        }
    }
    std::sort(pools.begin(), pools.end(), [](const seen_pool& a, const seen_pool& b) {
        return a.name < b.name;
    });
    return pools;
}

bool is_dead(const seen_pool& one)
{
    return one.status == EGB_OK &&
           std::none_of(
               one.attachments.begin(),
               one.attachments.end(),
               [](const egb_shared_attachment& each) { return each.is_alive; }
           );
}

std::string refusal_text(egb_status status)
{
    return status == EGB_CORRUPT       ? "no pool, or damaged"
           : status == EGB_UNSUPPORTED ? "made by another version of eggbox"
           : status == EGB_NO_MEMORY   ? "not readable: no permission, or no memory"
                                       : egb_status_text(status);
}

json seen_pool_json(const seen_pool& one)
{
    if (one.status != EGB_OK) {
        return {{"name", one.name}, {"error", refusal_text(one.status)}};
    }
    json attachments = json::array();
    for (const egb_shared_attachment& each : one.attachments) {
        attachments.push_back(
            {{"slot", each.slot},
             {"pid", each.pid},
             {"program", std::string(each.program)},
             {"alive", each.is_alive},
             {"held", each.held},
             {"missed", each.missed},
             {"waiting", each.waiting}}
        );
    }
    const egb_shared_numbers& n = one.numbers;
    return {
        {"name", one.name},
        {"dead", is_dead(one)},
        {"bytes", n.bytes},
        {"block_bytes", n.block_bytes},
        {"count", n.count},
        {"feed_count", n.feed_count},
        {"in_use", n.in_use},
        {"only_feed", n.only_feed},
        {"published", n.published},
        {"dropped", n.dropped},
        {"failures", n.failures},
        {"recovered", n.recovered},
        {"attachments", std::move(attachments)},
    };
}

}  // namespace tool
