// SPDX-License-Identifier: MIT
#include "sums/findings.hpp"

#include "sums/stacks.hpp"
#include "text/text.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "eggbox/misuse.h"

namespace tool
{
namespace
{

constexpr std::size_t lines_max = 10;
constexpr std::size_t calls_max = 8;

std::string last_part(const std::string& path)
{
    return path.substr(path.rfind('/') + 1);
}

bool begins_with(const std::string& text, const char* beginning)
{
    return text.rfind(beginning, 0) == 0;
}

bool is_in_loader(const std::string& name)
{
    return begins_with(name, "ld-linux") || begins_with(name, "ld-2.") ||
           begins_with(name, "ld.so") || begins_with(name, "ld64.so");
}

bool is_in_runtime(const place_record& place)
{
    const std::string name = last_part(place.module);
    return is_in_loader(name) || begins_with(name, "libc.so") || begins_with(name, "libc-2.") ||
           begins_with(name, "libstdc++.so") || begins_with(name, "libgcc_s.so");
}

bool is_lost(block_reach reach)
{
    return reach == block_reach::directly_lost || reach == block_reach::indirectly_lost;
}

// True for the block that the C++ library reserves at its start, for exceptions when memory has run
// out. The record of stacks begins later as a rule.
bool is_for_exceptions(const leak_record& leak)
{
    return leak.pool == "large" && leak.stack.empty() &&
           begins_with(last_part(leak.site.module), "libstdc++.so");
}

// True for blocks that the C library, the C++ library and the loader keep for themselves, such as
// buffers of stdio: the user cannot free them. The C library can reach the blocks that it keeps. A
// lost block is none of these, nor is a block from one of `callers`: the caller of these functions
// must free it.
bool is_kept(const leak_record& leak)
{
    static constexpr std::array callers = {
        "strdup",
        "__strdup",
        "strndup",
        "__strndup",
        "wcsdup",
        "getdelim",
        "_IO_getdelim",
        "__getdelim",
        "getline",
        "__getline",
        "realpath",
        "__realpath_chk",
        "asprintf",
        "vasprintf",
        "open_memstream",
        "scandir",
        "getcwd",
        "get_current_dir_name",
    };
    const std::string name = last_part(leak.site.module);
    const bool        is_all_theirs =
        !leak.stack.empty() && std::all_of(leak.stack.begin(), leak.stack.end(), is_in_runtime);
    if (is_in_loader(name) || is_all_theirs || is_for_exceptions(leak)) {
        return true;
    }
    return !is_lost(leak.reach) && (begins_with(name, "libc.so") || begins_with(name, "libc-2.")) &&
           std::find(callers.begin(), callers.end(), leak.site.function) == callers.end();
}

// The stack as far as it is known, and at least the site.
std::string leak_text(const place_record& site, const stack_record& stack, std::size_t calls)
{
    return stack.empty() ? place_text(site) : stack_text(stack, calls);
}

void add_to(leak_sum& sum, const site_record& site)
{
    sum.places  = plus(sum.places, 1);
    sum.blocks  = plus(sum.blocks, site.blocks);
    sum.bytes   = plus(sum.bytes, site.bytes);
    sum.samples = plus(sum.samples, site.samples);
}

void add_to(leak_sum& sum, const leak_sum& other)
{
    sum.places  = plus(sum.places, other.places);
    sum.blocks  = plus(sum.blocks, other.blocks);
    sum.bytes   = plus(sum.bytes, other.bytes);
    sum.samples = plus(sum.samples, other.samples);
}

using leaks_by_place = std::map<std::string, leak_total>;

void add_place(leaks_by_place& places, const leak_record& each)
{
    const std::string text  = leak_text(each.site, each.stack, each.stack.size());
    leak_total&       total = places[text + reach_text(each.reach)];
    total.reach             = each.reach;
    total.site              = each.site;
    total.stack             = each.stack;
    total.blocks            = plus(total.blocks, each.blocks);
    total.bytes             = plus(total.bytes, each.bytes);
    total.samples           = plus(total.samples, each.samples);
    total.oldest_ms         = std::max(total.oldest_ms, each.oldest_ms);
}

bool has_more(const leak_total& a, const leak_total& b)
{
    return a.bytes != b.bytes ? a.bytes > b.bytes : a.blocks > b.blocks;
}

std::vector<leak_total> most_bytes_first(const leaks_by_place& places)
{
    std::vector<leak_total> out;
    for (const auto& [text, each] : places) {
        out.push_back(each);
    }
    std::stable_sort(out.begin(), out.end(), has_more);
    return out;
}

void add_rest(leak_sum& to, const leak_sum& all, const leak_sum& without)
{
    to.is_known = to.is_known || all.is_known;
    to.places   = plus(to.places, minus(all.places, without.places));
    to.blocks   = plus(to.blocks, minus(all.blocks, without.blocks));
    to.bytes    = plus(to.bytes, minus(all.bytes, without.bytes));
    to.samples  = plus(to.samples, minus(all.samples, without.samples));
}

// The sums of a process, without what its list has and is counted by place, or as kept.
void add_sums(findings& to, const process_record& process, const std::array<leak_sum, 3>& without)
{
    add_to(to.suppressed, process.suppressed);
    if (process.leaked.is_known && !process.large.is_tracked) {
        to.large.blocks = plus(to.large.blocks, process.large.in_use);
        to.large.bytes  = plus(to.large.bytes, process.large.bytes_in_use);
    }
    add_rest(to.all, process.leaked, without[0]);
    add_rest(to.indirect, process.indirect, without[1]);
    add_rest(to.reachable, process.reachable, without[2]);
}

void add_leaks(findings& to, leaks_by_place& places, const process_record& process)
{
    leak_sum listed;
    leak_sum kept_indirect;
    leak_sum kept_reachable;
    for (const leak_record& each : process.leaks) {
        const bool is_still = each.reach == block_reach::still_reachable;
        if (!is_still) {
            add_to(listed, each);
        }
        if (is_kept(each)) {
            add_to(to.kept, each);
            if (is_still) {
                add_to(kept_reachable, each);
            } else if (each.reach == block_reach::indirectly_lost) {
                add_to(kept_indirect, each);
            }
        } else if (!is_still) {
            add_place(places, each);
        }
    }
    add_sums(to, process, {listed, kept_indirect, kept_reachable});
}

// A program that ends by itself no longer needs its blocks. One that a signal ends may need them:
// only blocks that it cannot reach are leaks.
void add_held(findings& to, leaks_by_place& places, const process_record& process)
{
    leak_sum listed;
    for (const leak_record& each : process.leaks) {
        if (is_kept(each)) {
            add_to(to.held_kept, each);
        } else {
            add_place(places, each);
        }
        add_to(listed, each);
    }
    add_to(to.held_suppressed, process.suppressed);
    add_rest(to.held_sum, process.leaked, listed);
}

bool has_lost_leaks(const process_record& process)
{
    return !process.no_report.empty() && !process.leaked.is_known &&
           (process.level == egb_level_text(EGB_LEVEL_TRACK) ||
            process.level == egb_level_text(EGB_LEVEL_SAMPLE));
}

void add_allocated(findings& to, leaks_by_place& places, const process_record& process)
{
    for (const leak_record& each : process.allocated) {
        add_place(places, each);
    }
    combine_sampling(to.sampling, process.sampling);
    to.without_stack = plus(to.without_stack, process.without_stack);
}

// A damaged block is found during a correct call, so the call is not the fault.
bool is_found_later(const std::string& kind)
{
    return kind == egb_misuse_text(EGB_MISUSE_OVERRUN) ||
           kind == egb_misuse_text(EGB_MISUSE_UNDERRUN) ||
           kind == egb_misuse_text(EGB_MISUSE_OVERWRITTEN);
}

std::string line_of(const char* what, const std::string& text)
{
    return text.empty() ? "" : fmt::format("  {:<12} {}\n", what, text);
}

std::string block_text(const event_record& event)
{
    const std::string pool = shown(event.pool);
    if (event.bytes == 0) {
        return line_of("pool", pool);
    }
    return line_of(
        "block", number_of(event.bytes, "byte", "bytes") + (pool.empty() ? "" : " in pool " + pool)
    );
}

std::string damage_text(const event_record& event)
{
    return !event.is_damaged   ? ""
           : event.damaged < 0 ? "a byte before the block"
                               : fmt::format("byte {} (counted from 0)", event.damaged);
}

// The library itself checks all blocks when the program ends.
std::string where(const place_record& place, const stack_record& stack)
{
    return begins_with(last_part(place.module), "libeggbox-malloc.so") ? "the end of the program"
           : place.is_known() ? leak_text(place, stack, calls_max)
                              : "";
}

std::string event_text(const event_record& event)
{
    return line_of(
               is_found_later(event.kind) ? "found at" : "called at", where(event.site, event.stack)
           ) +
           line_of("overwritten", damage_text(event)) + block_text(event) +
           line_of("allocated at", where(event.alloc_site, event.alloc_stack)) +
           line_of("freed at", where(event.free_site, event.free_stack));
}

void add_events(findings& to, std::map<std::string, std::size_t>& seen, const process_record& of)
{
    for (const event_record& each : of.events) {
        const auto [place, is_new] =
            seen.try_emplace(each.kind + "\n" + event_text(each), to.events.size());
        if (is_new) {
            to.events.push_back({each, 0});
        }
        to.events[place->second].count++;
    }
}

void add_lines(std::vector<std::string>& to, const std::string& text)
{
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        to.push_back(text.substr(at, end - at));
        at = end + 1;
    }
}

std::string blocks_text(std::uint64_t bytes, std::uint64_t blocks)
{
    return number_of(bytes, "byte", "bytes") + " in " + number_of(blocks, "block", "blocks");
}

std::string kept_text(const leak_sum& kept)
{
    return blocks_text(kept.bytes, kept.blocks) +
           " kept by the C library and the loader until the end";
}

std::string reachable_text(const leak_sum& reachable)
{
    return blocks_text(reachable.bytes, reachable.blocks) + " still reachable at the end, no leak";
}

// LEAKS: 96 bytes in 2 blocks directly lost, and 30 bytes in 1 block indirectly
std::string lost_text(const findings& found)
{
    const leak_sum& all   = found.all;
    const leak_sum& other = found.indirect;
    if (!found.reachable.is_known) {
        return fmt::format("LEAKS: {} never freed", blocks_text(all.bytes, all.blocks));
    }
    const std::string others = blocks_text(other.bytes, other.blocks);
    if (other.blocks == all.blocks) {
        return fmt::format("LEAKS: {} indirectly lost", others);
    }
    return fmt::format(
               "LEAKS: {} directly lost",
               blocks_text(minus(all.bytes, other.bytes), minus(all.blocks, other.blocks))
           ) +
           (other.blocks == 0 ? "" : fmt::format(", and {} indirectly", others));
}

std::string suppressed_text(const leak_sum& suppressed)
{
    return blocks_text(suppressed.bytes, suppressed.blocks) + " suppressed";
}

// The functions that are left out because of their position, not of their name.
std::string folded_text(const findings& found)
{
    std::set<std::string> names;
    for (const leak_total& leak : found.leaks) {
        for (std::size_t i = 0; i < leak.stack.size() && only_allocates(leak.stack[i]); i++) {
            if (leak.stack[i].fold == folding::always) {
                names.insert(shown(call_name(leak.stack[i])));
            }
        }
    }
    return names.empty() ? ""
                         : fmt::format(
                               "left out in front, since they allocate for many callers: {}; "
                               "`eggbox report --all` shows them",
                               fmt::join(names, ", ")
                           );
}

std::string large_text(const leak_sum& large)
{
    return fmt::format(
        "  {} in {}, allocation site not recorded",
        number_of(large.bytes, "byte", "bytes"),
        number_of(large.blocks, "large block", "large blocks")
    );
}

}  // namespace

std::string sampled_text(const sampling_record& sampling, std::uint64_t samples)
{
    return samples == 0 ? ""
                        : fmt::format(
                              "sampled, 1 in {}{}, scaled; {}",
                              bytes_text(sampling.period_bytes),
                              sampling.is_mixed ? " and others" : "",
                              number_of(samples, "sample", "samples")
                          );
}

findings find_all(const std::vector<run_record>& runs)
{
    findings                           out;
    leaks_by_place                     places;
    leaks_by_place                     holding;
    leaks_by_place                     allocating;
    std::map<std::string, std::size_t> seen;
    for (const run_record& run : runs) {
        for (const process_record& process : run.processes) {
            add_events(out, seen, process);
            add_allocated(out, allocating, process);
            out.without_leaks += has_lost_leaks(process) ? process.processes : 0;
            if (process.signal != 0 && !process.reachable.is_known) {
                add_held(out, holding, process);
            } else {
                add_leaks(out, places, process);
            }
        }
    }
    out.leaks     = most_bytes_first(places);
    out.held      = most_bytes_first(holding);
    out.allocated = most_bytes_first(allocating);
    for (const leak_total& each : out.leaks) {
        add_to(out.all, each);
    }
    for (const leak_total& each : out.held) {
        add_to(out.held_sum, each);
    }
    return out;
}

std::vector<std::string> event_lines(const findings& found, const std::string& where)
{
    std::vector<std::string> out;
    for (std::size_t i = 0; i < std::min(found.events.size(), lines_max); i++) {
        const event_total& each = found.events[i];
        out.push_back(
            each.count == 1 ? shown(each.event.kind) + ":"
                            : fmt::format("{}, {} times:", shown(each.event.kind), each.count)
        );
        add_lines(out, event_text(each.event));
    }
    if (found.events.size() > lines_max) {
        out.push_back(fmt::format("and {} more in {}", found.events.size() - lines_max, where));
    }
    return out;
}

static void add_without_stack(std::vector<std::string>& out, const findings& found)
{
    if (found.without_stack > 0) {
        out.push_back(
            "  " + number_of(found.without_stack, "request", "requests") + " without a stack"
        );
    }
}

// A report lists the first sites alone.
static void add_unlisted(
    std::vector<std::string>& out, const std::vector<leak_total>& sites, const leak_sum& all
)
{
    std::uint64_t blocks = all.blocks;
    std::uint64_t bytes  = all.bytes;
    for (const leak_total& each : sites) {
        blocks = minus(blocks, each.blocks);
        bytes  = minus(bytes, each.bytes);
    }
    if (blocks > 0) {
        out.push_back(
            "  " + blocks_text(bytes, blocks) + " at sites that the report does not list"
        );
    }
}

static void add_sites(
    std::vector<std::string>&      out,
    const std::vector<leak_total>& sites,
    const leak_sum&                all,
    const std::string&             where
)
{
    const std::size_t count = std::min(sites.size(), lines_max);
    for (std::size_t i = 0; i < count; i++) {
        const leak_total& each = sites[i];
        out.push_back(fmt::format(
            "  {}{}, {}oldest {}: {}",
            blocks_text(each.bytes, each.blocks),
            each.reach == block_reach::indirectly_lost ? ", indirectly" : "",
            each.samples == 0 ? "" : number_of(each.samples, "sample", "samples") + ", ",
            seconds_text(static_cast<double>(each.oldest_ms) / 1000),
            leak_text(each.site, each.stack, calls_max)
        ));
    }
    if (sites.size() > count) {
        out.push_back(fmt::format(
            "  and {} in {}", number_of(sites.size() - count, "more site", "more sites"), where
        ));
    }
    add_unlisted(out, sites, all);
}

static std::string sampled_in_brackets(const findings& found, const leak_sum& sum)
{
    const std::string text = sampled_text(found.sampling, sum.samples);
    return text.empty() ? "" : " (" + text + ")";
}

static void
add_left_out(std::vector<std::string>& out, const leak_sum& kept, const leak_sum& suppressed)
{
    if (kept.blocks > 0) {
        out.push_back("  " + kept_text(kept));
    }
    if (suppressed.blocks > 0) {
        out.push_back("  " + suppressed_text(suppressed));
    }
}

static void add_held(std::vector<std::string>& out, const findings& found, const std::string& where)
{
    const leak_sum& sum = found.held_sum;
    if (sum.blocks > 0 || found.held_suppressed.blocks > 0) {
        out.push_back(fmt::format(
            "IN USE when a signal ended the program, not counted as leaks: {}{}{}",
            blocks_text(sum.bytes, sum.blocks),
            sampled_in_brackets(found, sum),
            sum.blocks == 0 ? "" : ", by allocation site:"
        ));
        add_sites(out, found.held, sum, where);
        add_left_out(out, found.held_kept, found.held_suppressed);
    }
    if (found.without_leaks > 0) {
        out.push_back(fmt::format(
            "leaks of {} are not known: without a report there are none",
            number_of(found.without_leaks, "process", "processes")
        ));
    }
}

std::vector<std::string> leak_lines(const findings& found, const std::string& where)
{
    std::vector<std::string> out;
    const leak_sum&          all = found.all;
    if (all.is_known && all.blocks == 0) {
        out.push_back(
            std::string("no leaks: every ") +
            (found.sampling.period_bytes != 0 ? "sampled" : "tracked") + " block was freed" +
            (found.kept.blocks == 0 && found.large.blocks == 0 && found.suppressed.blocks == 0 &&
                     found.reachable.blocks == 0
                 ? ""
                 : ", except:")
        );
    }
    if (all.blocks > 0) {
        out.push_back(lost_text(found) + sampled_in_brackets(found, all) + ", by allocation site:");
    }
    add_sites(out, found.leaks, all, where);
    const std::string folded = folded_text(found);
    if (!folded.empty()) {
        out.push_back("  " + folded);
    }
    if (found.large.blocks > 0) {
        out.push_back(large_text(found.large));
    }
    if (found.reachable.blocks > 0) {
        out.push_back("  " + reachable_text(found.reachable));
    }
    add_left_out(out, found.kept, found.suppressed);
    add_held(out, found, where);
    add_without_stack(out, found);
    return out;
}

std::vector<std::string> allocated_lines(const findings& found, const std::string& where)
{
    std::vector<std::string> out;
    const sampling_record&   sampling = found.sampling;
    if (sampling.sum.samples == 0) {
        return out;
    }
    out.push_back(fmt::format(
        "ALLOCATED: about {} ({}), by allocation site:",
        bytes_text(sampling.sum.bytes),
        sampled_text(sampling, sampling.sum.samples)
    ));
    const std::size_t count = std::min(found.allocated.size(), lines_max);
    for (std::size_t i = 0; i < count; i++) {
        const leak_total& each = found.allocated[i];
        out.push_back(fmt::format(
            "  {} in {}, {}: {}",
            number_of(each.bytes, "byte", "bytes"),
            number_of(each.blocks, "block", "blocks"),
            number_of(each.samples, "sample", "samples"),
            leak_text(each.site, each.stack, calls_max)
        ));
    }
    if (found.allocated.size() > count) {
        out.push_back(
            fmt::format("  and {} more sites in {}", grouped(found.allocated.size() - count), where)
        );
    }
    if (sampling.lost > 0) {
        out.push_back(fmt::format(
            "  and {} that could not be noted, for want of memory",
            number_of(sampling.lost, "sample", "samples")
        ));
    }
    return out;
}

}  // namespace tool
