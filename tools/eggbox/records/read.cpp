// SPDX-License-Identifier: MIT
#include "records/records.hpp"

#include "text/failure.hpp"
#include "text/text.hpp"
#include "json/reader.hpp"

#include <cerrno>
#include <cstring>
#include <memory>

#include <fmt/format.h>

namespace tool
{
namespace
{

constexpr std::size_t file_bytes_max = std::size_t{256} << 20;

std::uint64_t optional_count(const json_place& from, const char* name, std::uint64_t otherwise)
{
    return from.has(name) ? from.member(name).count() : otherwise;
}

std::string optional_text(const json_place& from, const char* name)
{
    return from.has(name) ? from.member(name).text() : "";
}

bool optional_truth(const json_place& from, const char* name)
{
    return from.has(name) && from.member(name).truth();
}

pool_record read_pool(const json_place& from)
{
    pool_record out;
    out.name            = from.member("name").text();
    out.parent          = from.member("parent").text();
    out.level           = optional_text(from, "level");
    out.is_size_class   = from.member("is_size_class").truth();
    out.block_bytes     = from.member("block_bytes").count();
    out.stride_bytes    = from.member("stride_bytes").count();
    out.max_blocks      = from.member("max_blocks").count();
    out.budget_bytes    = from.member("budget_bytes").count();
    out.capacity        = from.member("capacity").count();
    out.in_use          = from.member("in_use").count();
    out.cached          = from.member("cached").count();
    out.peak            = from.member("peak").count();
    out.allocations     = from.member("allocations").count();
    out.frees           = from.member("frees").count();
    out.failures        = from.member("failures").count();
    out.chunks          = from.member("chunks").count();
    out.bytes_held      = from.member("bytes_held").count();
    out.requested_bytes = from.member("requested_bytes").count();
    out.ended           = optional_count(from, "ended", 0);
    out.in_use_over     = optional_count(from, "in_use_over", 0);
    return out;
}

large_size read_large_size(const json_place& from)
{
    large_size out;
    out.bytes            = from.member("bytes").count();
    out.allocations      = from.member("allocations").count();
    out.allocations_over = optional_count(from, "allocations_over", 0);
    out.in_use           = from.member("in_use").count();
    out.peak             = from.member("peak").count();
    if (out.bytes == 0) {
        from.member("bytes").refuse("should be more than 0");
    }
    return out;
}

large_record read_large(const json_place& from)
{
    large_record out;
    out.allocations  = from.member("allocations").count();
    out.frees        = from.member("frees").count();
    out.in_use       = from.member("in_use").count();
    out.peak         = from.member("peak").count();
    out.bytes_in_use = from.member("bytes_in_use").count();
    out.peak_bytes   = from.member("peak_bytes").count();
    out.failures     = from.member("failures").count();
    out.is_tracked   = from.has("is_tracked") && from.member("is_tracked").truth();
    if (from.has("sizes")) {
        for (const json_place& each : from.member("sizes").elements()) {
            out.sizes.push_back(read_large_size(each));
        }
    }
    return out;
}

std::vector<counted> read_counted(const json_place& from, const char* name)
{
    std::vector<counted> out;
    for (const json_place& each : from.elements()) {
        out.push_back({each.member(name).text(), each.member("count").count()});
    }
    return out;
}

std::vector<std::string> read_texts(const json_place& from)
{
    std::vector<std::string> out;
    for (const json_place& each : from.elements()) {
        out.push_back(each.text());
    }
    return out;
}

place_record read_place(const json_place& from)
{
    place_record out;
    from.require_object();
    out.module     = optional_text(from, "module");
    out.offset     = optional_count(from, "offset", 0);
    out.address    = optional_count(from, "address", 0);
    out.file       = optional_text(from, "file");
    out.line       = optional_count(from, "line", 0);
    out.function   = optional_text(from, "function");
    out.is_inlined = from.has("inlined") && from.member("inlined").truth();
    return out;
}

place_record read_place(const json_place& from, const char* name)
{
    return from.has(name) ? read_place(from.member(name)) : place_record{};
}

stack_record read_stack(const json_place& from, const char* name)
{
    stack_record out;
    if (from.has(name)) {
        for (const json_place& each : from.member(name).elements()) {
            out.push_back(read_place(each));
        }
    }
    return out;
}

block_reach read_reach(const json_place& from)
{
    const std::string text = from.has("reach") ? from.member("reach").text() : "";
    for (const block_reach each :
         {block_reach::directly_lost, block_reach::indirectly_lost, block_reach::still_reachable}) {
        if (text == reach_text(each)) {
            return each;
        }
    }
    return block_reach::unknown;
}

leak_record read_leak(const json_place& from)
{
    leak_record out;
    out.reach     = read_reach(from);
    out.site      = read_place(from, "site");
    out.stack     = read_stack(from, "stack");
    out.pool      = from.member("pool").text();
    out.blocks    = from.member("blocks").count();
    out.bytes     = from.member("bytes").count();
    out.oldest_ms = optional_count(from, "oldest_ms", 0);
    out.samples   = optional_count(from, "samples", 0);
    return out;
}

leak_sum read_sum(const json_place& from)
{
    leak_sum out;
    out.is_known = true;
    out.places   = from.member("places").count();
    out.blocks   = from.member("blocks").count();
    out.bytes    = from.member("bytes").count();
    out.samples  = optional_count(from, "samples", 0);
    return out;
}

sampling_record read_sampling(const json_place& from)
{
    sampling_record out;
    out.period_bytes = from.member("period_bytes").count();
    out.is_mixed     = optional_truth(from, "is_mixed");
    out.lost         = optional_count(from, "lost", 0);
    if (out.period_bytes == 0) {
        from.member("period_bytes").refuse("should be more than 0");
    }
    if (from.has("places")) {
        out.sum = read_sum(from);
    }
    return out;
}

event_record read_event(const json_place& from)
{
    event_record out;
    out.kind        = from.member("kind").text();
    out.pool        = from.member("pool").text();
    out.bytes       = optional_count(from, "bytes", 0);
    out.is_damaged  = from.has("damaged");
    out.damaged     = out.is_damaged ? from.member("damaged").whole() : 0;
    out.site        = read_place(from, "site");
    out.alloc_site  = read_place(from, "alloc_site");
    out.free_site   = read_place(from, "free_site");
    out.stack       = read_stack(from, "stack");
    out.alloc_stack = read_stack(from, "alloc_stack");
    out.free_stack  = read_stack(from, "free_stack");
    return out;
}

void read_sum(leak_sum& out, const json_place& from, const char* name)
{
    if (from.has(name)) {
        out = read_sum(from.member(name));
    }
}

// Reads leaks and events, which not every file has.
void read_findings(process_record& out, const json_place& from)
{
    if (from.has("leaks")) {
        for (const json_place& each : from.member("leaks").elements()) {
            out.leaks.push_back(read_leak(each));
        }
    }
    read_sum(out.leaked, from, "leaked");
    read_sum(out.indirect, from, "indirect");
    read_sum(out.reachable, from, "reachable");
    if (from.has("allocated")) {
        for (const json_place& each : from.member("allocated").elements()) {
            out.allocated.push_back(read_leak(each));
        }
    }
    if (from.has("sampling")) {
        out.sampling = read_sampling(from.member("sampling"));
    }
    out.without_stack = optional_count(from, "without_stack", 0);
    if (from.has("events")) {
        for (const json_place& each : from.member("events").elements()) {
            out.events.push_back(read_event(each));
        }
    }
}

// An exit status, or the number of a signal.
int status_of(const json_place& from)
{
    const std::uint64_t out = from.count();
    if (out > 255) {
        from.refuse("should be at most 255");
    }
    return static_cast<int>(out);
}

process_record read_process(const json_place& from)
{
    require_kind(from, "eggbox-process");
    process_record out;
    out.program             = from.member("program").text();
    out.arguments           = read_texts(from.member("arguments"));
    out.pid                 = from.member("pid").count();
    out.parent_pid          = from.member("parent_pid").count();
    out.process_started     = optional_count(from, "process_started", 0);
    out.started_ns          = optional_count(from, "started_ns", 0);
    out.processes           = optional_count(from, "processes", 1);
    out.duration_s          = from.member("duration_s").number();
    out.level               = from.member("level").text();
    out.library             = from.member("library").text();
    out.is_linked           = optional_truth(from, "is_linked");
    out.is_beside           = optional_truth(from, "is_beside");
    out.no_report           = optional_text(from, "no_report");
    out.signal              = from.has("signal") ? status_of(from.member("signal")) : 0;
    out.peak_resident_bytes = from.member("peak_resident_bytes").count();
    out.minor_faults        = from.member("minor_faults").count();
    out.major_faults        = from.member("major_faults").count();
    out.is_measured         = from.member("is_measured").truth();
    out.large               = read_large(from.member("large"));
    out.not_served          = read_counted(from.member("not_served"), "reason");
    out.misuse              = read_counted(from.member("misuse"), "kind");
    for (const json_place& each : from.member("pools").elements()) {
        out.pools.push_back(read_pool(each));
    }
    read_findings(out, from);
    return out;
}

silent_record read_silent(const json_place& from)
{
    silent_record out;
    out.program   = from.member("program").text();
    out.reason    = from.member("reason").text();
    out.pid       = from.member("pid").count();
    out.processes = from.member("processes").count();
    out.is_linked = optional_truth(from, "is_linked");
    return out;
}

std::vector<std::uint64_t> read_counts(const json_place& from, std::size_t length)
{
    std::vector<std::uint64_t> out;
    for (const json_place& each : from.elements()) {
        out.push_back(each.count());
    }
    if (out.size() != length) {
        from.refuse("should be as long as at_s");
    }
    return out;
}

std::vector<double> read_moments(const json_place& from)
{
    std::vector<double> out;
    for (const json_place& each : from.elements()) {
        out.push_back(each.number());
        if (out.size() > 1 && out[out.size() - 2] > out.back()) {
            each.refuse("should not be before the one in front of it");
        }
    }
    return out;
}

timeline_record read_timeline(const json_place& from)
{
    timeline_record out;
    out.started_ns        = optional_count(from, "started_ns", 0);
    out.at_s              = read_moments(from.member("at_s"));
    const std::size_t all = out.at_s.size();
    out.processes         = read_counts(from.member("processes"), all);
    out.bytes_in_use      = read_counts(from.member("bytes_in_use"), all);
    out.bytes_held        = read_counts(from.member("bytes_held"), all);
    out.bytes_resident    = read_counts(from.member("bytes_resident"), all);
    for (const json_place& each : from.member("pools").elements()) {
        out.pools.push_back(
            {each.member("name").text(), read_counts(each.member("bytes_in_use"), all)}
        );
    }
    return out;
}

run_record read_run(const json_place& from)
{
    require_kind(from, "eggbox-report");
    run_record out;
    out.exit_status = status_of(from.member("exit_status"));
    out.command     = read_texts(from.member("command"));
    out.wall_s      = from.member("wall_s").number();
    out.unreadable  = optional_count(from, "unreadable", 0);
    for (const json_place& each : from.member("processes").elements()) {
        out.processes.push_back(read_process(each));
    }
    if (from.has("silent")) {
        for (const json_place& each : from.member("silent").elements()) {
            out.silent.push_back(read_silent(each));
        }
    }
    if (from.has("timeline")) {
        out.timeline = read_timeline(from.member("timeline"));
    }
    return out;
}

}  // namespace

run_record run_of(std::vector<process_record> records)
{
    run_record out;
    out.command   = records.front().arguments;
    out.wall_s    = records.front().duration_s;
    out.processes = std::move(records);
    return out;
}

std::string read_file(const std::string& path)
{
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file{
        std::fopen(path.c_str(), "rbe"), std::fclose
    };
    if (file == nullptr) {
        throw failure(fmt::format("{}: cannot be opened: {}", shown(path), std::strerror(errno)));
    }
    std::string text;
    char        part[65536];
    while (const std::size_t bytes = std::fread(part, 1, sizeof part, file.get())) {
        text.append(part, bytes);
        if (text.size() > file_bytes_max) {
            throw failure(fmt::format("{}: too large for an eggbox file", shown(path)));
        }
    }
    if (std::ferror(file.get()) != 0) {
        throw failure(fmt::format("{}: cannot be read: {}", shown(path), std::strerror(errno)));
    }
    return text;
}

run_record parse_report(const std::string& text, const std::string& path)
{
    const nlohmann::json json = parse_json(text, path);
    const json_place     top{json, shown(path)};
    if (top.has("kind") && top.member("kind").text() == "eggbox-process") {
        return run_of({read_process(top)});
    }
    return read_run(top);
}

run_record read_report(const std::string& path)
{
    return parse_report(read_file(path), path);
}

process_record parse_process(const std::string& text, const std::string& path)
{
    const nlohmann::json json = parse_json(text, path);
    return read_process(json_place{json, shown(path)});
}

process_record read_process(const std::string& path)
{
    return parse_process(read_file(path), path);
}

}  // namespace tool
