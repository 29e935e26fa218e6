// SPDX-License-Identifier: MIT
// What a recorded run says: the contents of a report file, docs/report-format.md.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tool
{

struct pool_record {
    std::string   name;
    std::string   parent;
    std::string   level;  // empty: not known
    bool          is_size_class   = false;
    std::uint64_t block_bytes     = 0;
    std::uint64_t stride_bytes    = 0;
    std::uint64_t max_blocks      = 0;
    std::uint64_t budget_bytes    = 0;
    std::uint64_t capacity        = 0;
    std::uint64_t in_use          = 0;
    std::uint64_t cached          = 0;
    std::uint64_t peak            = 0;
    std::uint64_t allocations     = 0;
    std::uint64_t frees           = 0;
    std::uint64_t failures        = 0;
    std::uint64_t chunks          = 0;
    std::uint64_t bytes_held      = 0;
    std::uint64_t requested_bytes = 0;  // all that was asked for, ever; known if measured
};

struct large_record {
    std::uint64_t allocations  = 0;
    std::uint64_t frees        = 0;
    std::uint64_t in_use       = 0;
    std::uint64_t peak         = 0;
    std::uint64_t bytes_in_use = 0;
    std::uint64_t peak_bytes   = 0;
    std::uint64_t failures     = 0;
};

/// How often something happened, and what.
struct counted {
    std::string   what;
    std::uint64_t count = 0;
};

/// A place in the code. What is not known is empty, or 0.
struct place_record {
    std::string   module;  // the program or the library
    std::uint64_t offset  = 0;
    std::uint64_t address = 0;  // if no module is known
    std::string   file;
    std::uint64_t line = 0;
    std::string   function;

    bool is_known() const;
    bool operator==(const place_record& other) const;
};

/// Blocks of one pool that one place allocated and nobody freed.
struct leak_record {
    place_record  site;
    std::string   pool;
    std::uint64_t blocks    = 0;
    std::uint64_t bytes     = 0;
    std::uint64_t oldest_ms = 0;
};

/// One misuse of those that were last.
struct event_record {
    std::string   kind;
    std::string   pool;
    std::uint64_t bytes      = 0;  // that were asked for; 0: not known
    std::int64_t  damaged    = 0;  // the first byte that was written to
    bool          is_damaged = false;
    place_record  site;
    place_record  alloc_site;
    place_record  free_site;
};

/// All leaks, also those that are not listed.
struct leak_sum {
    bool          is_known = false;
    std::uint64_t places   = 0;
    std::uint64_t blocks   = 0;
    std::uint64_t bytes    = 0;
};

struct process_record {
    std::string               program;
    std::vector<std::string>  arguments;
    std::uint64_t             pid             = 0;
    std::uint64_t             parent_pid      = 0;
    std::uint64_t             process_started = 0;  // 0: not known
    std::uint64_t             started_ns      = 0;
    std::uint64_t             processes       = 1;  // that it stands for
    double                    duration_s      = 0;
    std::string               level;
    std::string               library;  // version of the library that served it
    std::uint64_t             peak_resident_bytes = 0;
    std::uint64_t             minor_faults        = 0;
    std::uint64_t             major_faults        = 0;
    bool                      is_measured         = false;  // requested_bytes is known
    std::vector<pool_record>  pools;
    large_record              large;
    std::vector<counted>      not_served;
    std::vector<counted>      misuse;
    std::vector<leak_record>  leaks;
    leak_sum                  leaked;
    std::vector<event_record> events;
};

struct run_record {
    std::vector<std::string>    command;
    int                         exit_status = 0;  // 128 and the signal's number: ended by it
    double                      wall_s      = 0;
    std::uint64_t               unreadable  = 0;  // files of processes that made no sense
    std::vector<process_record> processes;
};

/// Reads a report. Throws failure, with the file and the place in it, if it is anything else: it
/// may be truncated, of another kind, or made up to do harm.
run_record read_report(const std::string& path);

/// The same of a text; `path` is for messages.
run_record parse_report(const std::string& text, const std::string& path);

/// Reads what one process wrote.
process_record read_process(const std::string& path);

/// Counts are added, peaks are the largest.
void combine_large(large_record& to, const large_record& from);
void add_counted(std::vector<counted>& to, const std::vector<counted>& from);

/// The process went on as another program: `process` is both now, by the name of the next.
void become(process_record& process, const process_record& next);

/// `group` stands for another process as well.
void join(process_record& group, const process_record& another);

/// The text of a report file, with a line end.
std::string report_text(const run_record& run);

/// Reads a whole file. Throws failure if it cannot, or if it is larger than any report.
std::string read_file(const std::string& path);

}  // namespace tool
