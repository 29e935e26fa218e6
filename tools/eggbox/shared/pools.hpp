// SPDX-License-Identifier: MIT
// The pools in /dev/shm that processes share, as they are seen from outside.
#pragma once

#include "json/writer.hpp"

#include <string>
#include <vector>

#include "eggbox/shared.h"

namespace tool
{

/// A pool, as it was at one moment.
struct seen_pool {
    std::string        name;
    egb_status         status  = EGB_OK;  // if not EGB_OK, the look failed, and all below is empty
    egb_shared_numbers numbers = {};
    std::vector<egb_shared_attachment> attachments;
};

/// The pools with a name in /dev/shm, in order of their names. A pool that ended meanwhile is none.
std::vector<seen_pool> all_pools();

/// Whether all processes that have it open are dead.
bool is_dead(const seen_pool& one);

/// Why its numbers are not known.
std::string refusal_text(egb_status status);

json seen_pool_json(const seen_pool& one);

}  // namespace tool
