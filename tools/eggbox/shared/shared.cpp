// SPDX-License-Identifier: MIT
#include "shared/shared.hpp"

#include "text/failure.hpp"
#include "text/listing.hpp"
#include "text/text.hpp"
#include "json/writer.hpp"

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "eggbox/shared.h"

namespace tool
{
namespace
{

struct seen_pool {
    std::string                        name;
    egb_status                         status  = EGB_OK;
    egb_shared_numbers                 numbers = {};
    std::vector<egb_shared_attachment> attachments;
};

void remember(const egb_shared_attachment* one, void* user)
{
    static_cast<seen_pool*>(user)->attachments.push_back(*one);
}

// The pools with a name in /dev/shm, in order of their names. A pool that ended meanwhile is none.
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

std::string pool_text(const seen_pool& one)
{
    if (one.status != EGB_OK) {
        return fmt::format("{}: {}\n", shown(one.name), refusal_text(one.status));
    }
    const egb_shared_numbers& n = one.numbers;
    std::string               out =
        headline(
            fmt::format("{}{}", shown(one.name), is_dead(one) ? ": all its processes are dead" : "")
        ) +
        "\n";
    out += fmt::format(
        "  blocks     {} of {}; {} in use, {} of them only in the feed\n"
        "  frames     {} published, {} dropped, {} requests without a block\n",
        grouped(n.count),
        bytes_text(n.block_bytes),
        grouped(n.in_use),
        grouped(n.only_feed),
        grouped(n.published),
        grouped(n.dropped),
        grouped(n.failures)
    );
    table rows({"  process", "state", "holds", "missed", "program"}, true);
    for (const egb_shared_attachment& each : one.attachments) {
        rows.add(
            {fmt::format("  {}", each.pid),
             each.is_alive ? "alive" : "dead",
             grouped(each.held),
             grouped(each.missed),
             shown(each.program)}
        );
    }
    return rows.empty() ? out : out + rows.text();
}

json pool_json(const seen_pool& one)
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
             {"missed", each.missed}}
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

}  // namespace

int ls_command(const shared_options& wanted)
{
    const std::vector<seen_pool> pools   = all_pools();
    json                         found   = json::array();
    std::string                  text    = pools.empty() ? "No shared pools in /dev/shm.\n" : "";
    bool                         has_any = false;
    for (const seen_pool& one : pools) {
        found.push_back(pool_json(one));
        text += (text.empty() ? "" : "\n") + pool_text(one);
        has_any = has_any || is_dead(one);
    }
    if (has_any) {
        text += "\nNext: eggbox gc\n";
    }
    print(
        wanted.json
            ? json_text({{"schema", schema}, {"kind", "eggbox-ls"}, {"pools", std::move(found)}})
            : text
    );
    return exit_done;
}

int gc_command(const shared_options& wanted)
{
    const std::size_t removed = egb_shared_gc();
    print(
        wanted.json
            ? json_text({{"schema", schema}, {"kind", "eggbox-gc"}, {"removed", removed}})
            : fmt::format("{} removed.\n", number_of(removed, "shared pool", "shared pools"))
    );
    return exit_done;
}

}  // namespace tool
