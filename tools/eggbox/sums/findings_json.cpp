// SPDX-License-Identifier: MIT
// The findings as JSON.
#include "records/write.hpp"
#include "sums/findings.hpp"

namespace tool
{

void add_findings(json& to, const findings& found)
{
    to["leaks"] = json::array();
    for (const leak_total& each : found.leaks) {
        to["leaks"].push_back(leak_json(each));
    }
    if (found.all.is_known) {
        to["leaked"] = leaked_json(found.all);
        if (found.reachable.is_known) {
            to["indirect"]  = leaked_json(found.indirect);
            to["reachable"] = leaked_json(found.reachable);
        }
        to["kept"]                  = leaked_json(found.kept);
        to["suppressed"]            = leaked_json(found.suppressed);
        to["large"]["in_use"]       = found.large.blocks;
        to["large"]["bytes_in_use"] = found.large.bytes;
    }
    if (found.held_sum.is_known) {
        to["held"]            = leaked_json(found.held_sum);
        to["held_kept"]       = leaked_json(found.held_kept);
        to["held_suppressed"] = leaked_json(found.held_suppressed);
        to["held_sites"]      = json::array();
        for (const leak_total& each : found.held) {
            to["held_sites"].push_back(leak_json(each));
        }
    }
    if (found.sampling.period_bytes != 0) {
        to["sampling"]  = sampling_json(found.sampling);
        to["allocated"] = json::array();
        for (const leak_total& each : found.allocated) {
            to["allocated"].push_back(allocated_json(each));
        }
    }
    if (found.without_stack != 0) {
        to["without_stack"] = found.without_stack;
    }
    to["events"] = json::array();
    for (const event_total& each : found.events) {
        json event     = event_json(each.event);
        event["count"] = each.count;
        to["events"].push_back(std::move(event));
    }
}

}  // namespace tool
