// SPDX-License-Identifier: MIT
// The writers: each turns a profile, or the runs, into the text of a file.
#pragma once

#include "export/profile.hpp"

#include <string>
#include <vector>

namespace tool
{

/// A line for each stack: CALL;CALL;CALL WEIGHT, the outermost first, each "FUNCTION FILE:LINE".
std::string folded_text(const profile& of);

/// The same as `heaptrack_print -F` writes it: each call is "FUNCTION (FILE);".
std::string heaptrack_text(const profile& of);

/// The protocol buffer `Profile` of pprof, not compressed.
std::string pprof_bytes(const profile& of);

/// A file of speedscope, with a profile for each figure.
std::string speedscope_text(const profile& of);

/// A file of DHAT, version 2, for dh_view.html. The profile must have bytes.
std::string dhat_text(const profile& of);

/// A file of Massif with one snapshot, the end of the program, for ms_print. The profile must have
/// bytes.
std::string massif_text(const profile& of);

/// A trace for Perfetto, in the JSON of trace events: a slice for each process with a time of its
/// own, with its figures as arguments. Throws failure if no process has one.
std::string perfetto_text(const std::vector<run_record>& runs);

}  // namespace tool
