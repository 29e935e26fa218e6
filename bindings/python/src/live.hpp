// SPDX-License-Identifier: MIT
#pragma once

#include <nanobind/nanobind.h>

/// The slots of this process in the live files that it has mapped (eggbox/live.h): a dict for each
/// copy of the library in the process, with its pools. Empty: nothing records the process. Throws
/// nothing but Python's errors.
nanobind::list live_slots();

/// A text of `bytes_max` bytes at most, up to its zero. Bytes that are no UTF-8 become U+FFFD.
nanobind::object text_of(const char* start, size_t bytes_max);
