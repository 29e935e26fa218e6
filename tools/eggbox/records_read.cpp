// SPDX-License-Identifier: MIT
#include "records.hpp"

#include "commands.hpp"
#include "json_reader.hpp"
#include "text.hpp"

#include <cerrno>
#include <cstring>
#include <memory>

#include <fmt/format.h>

namespace tool
{
namespace
{

constexpr std::size_t file_bytes_max = std::size_t{256} << 20;

pool_record read_pool(const json_place& from)
{
    pool_record out;
    out.name            = from.member("name").text();
    out.parent          = from.member("parent").text();
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

process_record read_process(const json_place& from)
{
    require_kind(from, "eggbox-process");
    process_record out;
    out.program             = from.member("program").text();
    out.arguments           = read_texts(from.member("arguments"));
    out.pid                 = from.member("pid").count();
    out.parent_pid          = from.member("parent_pid").count();
    out.duration_s          = from.member("duration_s").number();
    out.level               = from.member("level").text();
    out.library             = from.member("library").text();
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
    return out;
}

run_record read_run(const json_place& from)
{
    require_kind(from, "eggbox-report");
    run_record          out;
    const std::uint64_t status = from.member("exit_status").count();
    if (status > 255) {
        from.member("exit_status").refuse("should be at most 255");
    }
    out.exit_status = static_cast<int>(status);
    out.command     = read_texts(from.member("command"));
    out.wall_s      = from.member("wall_s").number();
    if (from.has("unreadable")) {
        out.unreadable = from.member("unreadable").count();
    }
    for (const json_place& each : from.member("processes").elements()) {
        out.processes.push_back(read_process(each));
    }
    return out;
}

// What one process wrote is a run of this process alone.
run_record run_of(process_record process)
{
    run_record out;
    out.command = process.arguments;
    out.wall_s  = process.duration_s;
    out.processes.push_back(std::move(process));
    return out;
}

}  // namespace

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
            throw failure(fmt::format("{}: too large for a file of ours", shown(path)));
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
        return run_of(read_process(top));
    }
    return read_run(top);
}

run_record read_report(const std::string& path)
{
    return parse_report(read_file(path), path);
}

process_record read_process(const std::string& path)
{
    const nlohmann::json json = parse_json(read_file(path), path);
    return read_process(json_place{json, shown(path)});
}

}  // namespace tool
