// SPDX-License-Identifier: MIT
// The report for people: the answer first, then where it comes from.
#include "report.hpp"

#include <cinttypes>
#include <cstdio>

namespace demo
{
namespace
{

// 1234567 as "1,234,567".
std::string grouped(std::uint64_t number)
{
    std::string digits = std::to_string(number);
    for (std::size_t at = digits.size(); at > 3;) {
        at -= 3;
        digits.insert(at, ",");
    }
    return digits;
}

std::string size_text(std::uint64_t bytes)
{
    char text[32];
    if (bytes < 1024 * 1024) {
        std::snprintf(text, sizeof text, "%.1f KiB", static_cast<double>(bytes) / 1024);
    } else {
        std::snprintf(text, sizeof text, "%.2f MiB", static_cast<double>(bytes) / 1024 / 1024);
    }
    return bytes == 0 ? "not known" : text;
}

double seconds(std::uint64_t ns)
{
    return static_cast<double>(ns) / 1e9;
}

double ns_per_packet(const outcome& run)
{
    return static_cast<double>(run.ns) / static_cast<double>(run.result.packets);
}

void print_times(const experiment& done)
{
    const double base = static_cast<double>(done.measurements.front().median().ns);
    std::printf(
        "%-24s %10s %13s %10s %15s\n", "", "time", "per packet", "relative", "peak resident"
    );
    for (const measurement& each : done.measurements) {
        const outcome& run = each.median();
        std::printf(
            "%-24s %8.3f s %10.1f ns %8.0f %% %15s\n",
            each.kind.name,
            seconds(run.ns),
            ns_per_packet(run),
            static_cast<double>(run.ns) / base * 100,
            size_text(each.median(&outcome::resident_bytes_peak)).c_str()
        );
    }
}

std::uint64_t allocations(const counts& result)
{
    return result.packets + result.segments + result.flows;
}

// Whether the heap was given back and asked for again while the trial ran shows in the page faults.
void print_trimming(const measurement& base, const measurement& untrimmed)
{
    const std::uint64_t with    = base.median(&outcome::page_faults);
    const std::uint64_t without = untrimmed.median(&outcome::page_faults);
    std::printf(
        "glibc's trimming of the heap %s here: %s page faults with it, %s without.\n",
        with > without + without / 10 ? "matters" : "makes no difference",
        grouped(with).c_str(),
        grouped(without).c_str()
    );
}

// Explains the numbers, so that nobody reads more into them than there is.
void print_conditions(const experiment& done)
{
    const measurement& base = done.measurements.front();
    const counts&      all  = base.median().result;
    std::printf(
        "\nEach variant ran %zu times, in turns and in a process of its own; the medians are "
        "shown. Time\n"
        "is processor time of the whole pipeline: headers, copies, check sums and %s\n"
        "allocations, %.2f a packet.\n"
        "%s were resident before the first packet: the program, the capture, the schedule.\n",
        base.runs.size(),
        grouped(allocations(all)).c_str(),
        static_cast<double>(allocations(all)) / static_cast<double>(all.packets),
        size_text(base.median(&outcome::resident_bytes_start)).c_str()
    );
    if (const measurement* const untrimmed = done.find(variant::malloc_untrimmed)) {
        print_trimming(base, *untrimmed);
    }
}

void print_result(const experiment& done)
{
    const counts& all = done.measurements.front().median().result;
    std::printf(
        "\n%s packets: %s TCP, %s UDP, ",
        grouped(all.packets).c_str(),
        grouped(all.tcp).c_str(),
        grouped(all.udp).c_str()
    );
    std::printf(
        "%s other, %s too long. %s flows.\n",
        grouped(all.other).c_str(),
        grouped(all.too_long).c_str(),
        grouped(all.flows).c_str()
    );
    std::printf(
        "%s segments: %s early, %s repeated, ",
        grouped(all.segments).c_str(),
        grouped(all.early).c_str(),
        grouped(all.repeated).c_str()
    );
    std::printf(
        "%s stray. %s gaps never filled.\n", grouped(all.stray).c_str(), grouped(all.gaps).c_str()
    );
    std::printf(
        "%s bytes of streams and %s of datagrams read, ",
        grouped(all.stream_bytes).c_str(),
        grouped(all.datagram_bytes).c_str()
    );
    std::printf("check sum %016" PRIx64 ".\n", all.check);
}

void print_agreement(agreement found)
{
    std::puts(
        found == agreement::same        ? "All variants gave exactly this result."
        : found == agreement::too_small ? "This is the result of malloc; the pools dropped packets."
                                        : "THE VARIANTS DISAGREE. Something is broken."
    );
}

void print_drops(const counts& result)
{
    if (result.dropped() == 0) {
        return;
    }
    std::printf(
        "\nTHE POOLS WERE TOO SMALL: %s packets dropped, for want of a packet buffer (%s), a "
        "segment\n"
        "(%s) or a flow (%s). Less work takes less time: the times above say nothing.\n",
        grouped(result.dropped()).c_str(),
        grouped(result.no_packet).c_str(),
        grouped(result.no_segment).c_str(),
        grouped(result.no_flow).c_str()
    );
}

void print_pool(const outcome& run, std::size_t pool)
{
    const advice given = advise(run, pool);
    std::printf(
        "%-15s %11zu %10s %8s %9s %12s\n",
        pool_kinds[pool].name,
        pool_kinds[pool].block_bytes,
        grouped(run.pools[pool].capacity).c_str(),
        grouped(run.pools[pool].peak).c_str(),
        given.capacity == 0 ? "?" : grouped(given.capacity).c_str(),
        given.capacity == 0 ? "?" : size_text(given.static_bytes).c_str()
    );
}

void print_pools(const outcome& run)
{
    std::printf(
        "\n%-15s %11s %10s %8s %9s %12s\n",
        "pool",
        "block bytes",
        "capacity",
        "peak",
        "give it",
        "which takes"
    );
    for (std::size_t i = 0; i < pool_count; i++) {
        print_pool(run, i);
    }
}

void print_definitions(const outcome& run)
{
    if (run.result.dropped() != 0) {
        std::puts("\nWhat size to give the pools: more, but how much cannot be said while packets "
                  "are dropped.");
        return;
    }
    std::puts("\nWhat size to give the pools: the peak and a quarter more, rounded up.\n");
    for (std::size_t i = 0; i < pool_count; i++) {
        const advice given = advise(run, i);
        if (given.capacity == 0) {
            std::printf("    // %s: none was needed\n", pool_kinds[i].name);
        } else {
            std::printf("    %s\n", given.definition.c_str());
        }
    }
}

void print_warning(const experiment& done, const outcome& pools)
{
    std::printf(
        "\nA measured peak is no bound: it is the most blocks in use at one time over %s packets,\n"
        "%s rounds of the same %s at %u sites. Other traffic may need more. An exhausted pool "
        "gives\n"
        "NULL: be ready for it, as this program is. EGB_FIXED_DEFINE() makes pools with live "
        "bits.\n",
        grouped(pools.result.packets).c_str(),
        grouped(done.rounds).c_str(),
        grouped(done.capture_frames).c_str(),
        done.sites
    );
}

}  // namespace

void print_text(const experiment& done)
{
    const outcome& pools = done.find(variant::pools_marks)->median();
    std::printf(
        "%s: %zu packets in %.1f s, played %u times at %u sites at once: %s packets\n\n",
        done.capture_name.c_str(),
        done.capture_frames,
        static_cast<double>(done.capture_us) / 1e6,
        done.rounds,
        done.sites,
        grouped(pools.result.packets).c_str()
    );
    print_times(done);
    print_drops(pools.result);
    print_pools(pools);
    print_definitions(pools);
    print_warning(done, pools);
    print_conditions(done);
    print_result(done);
    print_agreement(compare(done));
}

}  // namespace demo
