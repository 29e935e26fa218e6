// SPDX-License-Identifier: MIT
// A recorded run: the contents of a report file (docs/report-format.md).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tool
{

struct pool_record {
    std::string   name;
    std::string   parent;
    std::string   level;  // empty: unknown
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
    std::uint64_t requested_bytes = 0;  // sum over all requests; known if measured
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

/// A kind of event, and its count.
struct counted {
    std::string   what;
    std::uint64_t count = 0;
};

/// A place in the code. Unknown parts are empty or 0.
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

/// Blocks of one pool that one place allocated and that were never freed.
struct leak_record {
    place_record  site;
    std::string   pool;
    std::uint64_t blocks    = 0;
    std::uint64_t bytes     = 0;
    std::uint64_t oldest_ms = 0;
};

/// One of the last misuses.
struct event_record {
    std::string   kind;
    std::string   pool;
    std::uint64_t bytes      = 0;  // of the request; 0: unknown
    std::int64_t  damaged    = 0;  // the first overwritten byte
    bool          is_damaged = false;
    place_record  site;
    place_record  alloc_site;
    place_record  free_site;
};

/// All leaks, including those that are not listed.
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
    std::uint64_t             process_started = 0;  // 0: unknown
    std::uint64_t             started_ns      = 0;
    std::uint64_t             processes       = 1;  // number of processes in this record
    double                    duration_s      = 0;
    std::string               level;
    std::string               library;  // version of the library
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
    int                         exit_status = 0;  // 128 + n: ended by signal n
    double                      wall_s      = 0;
    std::uint64_t               unreadable  = 0;  // process files that could not be read
    std::vector<process_record> processes;
};

/// Reads a report, which is untrusted: it may be truncated, of another kind, or hostile. Throws
/// failure, whose text names the file and the place in it.
run_record read_report(const std::string& path);

/// Like read_report(), from a text. `path` is for messages.
run_record parse_report(const std::string& text, const std::string& path);

/// Reads the file that one process wrote.
process_record read_process(const std::string& path);

/// Adds counts, and takes the maximum of peaks.
void combine_large(large_record& to, const large_record& from);
void add_counted(std::vector<counted>& to, const std::vector<counted>& from);

/// The process called exec: `process` then covers both programs, under the name of `next`.
void become(process_record& process, const process_record& next);

/// Adds another process to the record `group`.
void join(process_record& group, const process_record& another);

/// The text of a report file, with a line end.
std::string report_text(const run_record& run);

/// Reads a whole file. Throws failure if it cannot, or if it is larger than any report.
std::string read_file(const std::string& path);

}  // namespace tool
