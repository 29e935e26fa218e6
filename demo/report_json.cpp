// SPDX-License-Identifier: MIT
// The report for programs: schema 1. New members may come; those here stay.
#include "report.hpp"

#include <cinttypes>
#include <cstdio>

namespace demo
{
namespace
{

std::string quoted(const std::string& text)
{
    std::string out = "\"";
    for (const char each : text) {
        const unsigned code = static_cast<unsigned char>(each);
        if (code < 0x20 || each == '"' || each == '\\') {
            char escape[8];
            std::snprintf(escape, sizeof escape, "\\u%04x", code);
            out += escape;
        } else {
            out += each;
        }
    }
    return out + "\"";
}

void print_number(const char* name, std::uint64_t number, const char* end = ", ")
{
    std::printf("\"%s\": %" PRIu64 "%s", name, number, end);
}

void print_capture(const experiment& done)
{
    std::printf("  \"capture\": {\"file\": %s, ", quoted(done.capture_name).c_str());
    print_number("packets", done.capture_frames);
    print_number("duration_us", done.capture_us, "},\n  ");
    print_number("rounds", done.rounds);
    print_number("sites", done.sites, ",\n");
}

void print_variant(const measurement& each, const char* end)
{
    std::printf("    {\"variant\": %s, ", quoted(each.kind.key).c_str());
    print_number("median_ns", each.median().ns);
    std::printf("\"runs_ns\": [");
    for (std::size_t i = 0; i < each.runs.size(); i++) {
        std::printf("%s%" PRIu64, i == 0 ? "" : ", ", each.runs[i].ns);
    }
    std::printf("], ");
    print_number("page_faults", each.median(&outcome::page_faults));
    print_number("resident_bytes_start", each.median(&outcome::resident_bytes_start));
    print_number("resident_bytes_peak", each.median(&outcome::resident_bytes_peak));
    print_number("resident_bytes_end", each.median(&outcome::resident_bytes_end));
    print_number("dropped", each.median().result.dropped(), "}");
    std::printf("%s\n", end);
}

void print_pool(const outcome& run, std::size_t pool)
{
    const advice given = advise(run, pool);
    std::printf("    {\"pool\": %s, ", quoted(pool_kinds[pool].name).c_str());
    print_number("block_bytes", pool_kinds[pool].block_bytes);
    print_number("capacity", run.pools[pool].capacity);
    print_number("peak", run.pools[pool].peak);
    print_number("advised_capacity", given.capacity);
    print_number("advised_static_bytes", given.static_bytes);
    std::printf("\"definition\": %s}", quoted(given.definition).c_str());
    std::printf("%s\n", pool + 1 == pool_count ? "" : ",");
}

void print_result(const counts& all)
{
    std::printf("  \"result\": {");
    print_number("packets", all.packets);
    print_number("tcp", all.tcp);
    print_number("udp", all.udp);
    print_number("other", all.other);
    print_number("too_long", all.too_long);
    print_number("flows", all.flows);
    print_number("segments", all.segments);
    print_number("early", all.early);
    print_number("repeated", all.repeated);
    print_number("stray", all.stray);
    print_number("gaps", all.gaps);
    print_number("stream_bytes", all.stream_bytes);
    print_number("datagram_bytes", all.datagram_bytes);
    std::printf("\"check\": \"%016" PRIx64 "\"}\n", all.check);
}

const char* agreement_text(agreement found)
{
    return found == agreement::same        ? "same"
           : found == agreement::too_small ? "pools too small"
                                           : "different";
}

}  // namespace

void print_json(const experiment& done)
{
    const outcome& pools = done.find(variant::pools_marks)->median();
    std::printf("{\n  \"schema\": 1,\n");
    print_capture(done);
    std::printf(
        "  \"results\": %s,\n  \"variants\": [\n", quoted(agreement_text(compare(done))).c_str()
    );
    for (const measurement& each : done.measurements) {
        print_variant(each, &each == &done.measurements.back() ? "" : ",");
    }
    std::printf("  ],\n  \"pools\": [\n");
    for (std::size_t i = 0; i < pool_count; i++) {
        print_pool(pools, i);
    }
    std::printf("  ],\n");
    print_result(done.measurements.front().median().result);
    std::printf("}\n");
}

}  // namespace demo
