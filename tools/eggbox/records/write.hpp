// SPDX-License-Identifier: MIT
// Parts of a report as JSON: every output of the command has them in this form.
#pragma once

#include "records/records.hpp"
#include "json/writer.hpp"

#include <vector>

namespace tool
{

json counted_json(const std::vector<counted>& all, const char* name);
json place_json(const place_record& place);
json event_json(const event_record& event);
/// Adds the stack as `name`, unless it is unknown.
void add_stack(json& to, const char* name, const stack_record& stack);
json leaked_json(const leak_sum& sum);
json sampling_json(const sampling_record& sampling);

/// Blocks in use, and the same without the age: "allocated" blocks are in use or not.
json leak_json(const site_record& leak);
json allocated_json(const site_record& site);

}  // namespace tool
