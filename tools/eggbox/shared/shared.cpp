// SPDX-License-Identifier: MIT
#include "shared/shared.hpp"

#include "shared/pools.hpp"
#include "text/failure.hpp"
#include "text/text.hpp"
#include "json/writer.hpp"

#include <fmt/format.h>

namespace tool
{
namespace
{

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
    table rows({"  process", "state", "holds", "missed", "waits", "program"}, true);
    for (const egb_shared_attachment& each : one.attachments) {
        rows.add(
            {fmt::format("  {}", each.pid),
             each.is_alive ? "alive" : "dead",
             grouped(each.held),
             grouped(each.missed),
             grouped(each.waiting),
             shown(each.program)}
        );
    }
    return rows.empty() ? out : out + rows.text();
}

}  // namespace

int ls_command(const shared_options& wanted)
{
    const std::vector<seen_pool> pools   = all_pools();
    json                         found   = json::array();
    std::string                  text    = pools.empty() ? "No shared pools in /dev/shm.\n" : "";
    bool                         has_any = false;
    for (const seen_pool& one : pools) {
        found.push_back(seen_pool_json(one));
        text += (text.empty() ? "" : "\n") + pool_text(one);
        has_any = has_any || is_dead(one);
    }
    if (has_any) {
        text += "\nNext: eggbox gc\n";
    }
    print(
        wanted.json
            ? json_text({{"schema", schema}, {"kind", "eggbox-ls"}, {"pools", std::move(found)}})
            : fitted(text)
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
