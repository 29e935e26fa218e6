// SPDX-License-Identifier: MIT
// A recorded run: the contents of a report file (docs/report-format.md).
#pragma once

#include <cstdint>
#include <map>
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
    std::uint64_t in_use_over     = 0;  // up to this many of in_use may be free
    std::uint64_t cached          = 0;
    std::uint64_t peak            = 0;
    std::uint64_t allocations     = 0;
    std::uint64_t frees           = 0;
    std::uint64_t failures        = 0;
    std::uint64_t chunks          = 0;
    std::uint64_t bytes_held      = 0;
    std::uint64_t requested_bytes = 0;  // sum over all requests; known if measured
    std::uint64_t ended = 0;  // pools of this name that were destroyed; 0: one that was not
};

/// Requests of one size that is larger than every size class.
struct large_size {
    std::uint64_t bytes            = 0;
    std::uint64_t allocations      = 0;
    std::uint64_t allocations_over = 0;  // the part of these that may have had other sizes
    std::uint64_t in_use           = 0;
    std::uint64_t peak             = 0;
};

struct large_record {
    std::uint64_t allocations  = 0;
    std::uint64_t frees        = 0;
    std::uint64_t in_use       = 0;
    std::uint64_t peak         = 0;
    std::uint64_t bytes_in_use = 0;
    std::uint64_t peak_bytes   = 0;
    std::uint64_t failures     = 0;
    bool          is_tracked   = false;  // the leaks include large blocks

    std::vector<large_size> sizes;  // those requested most often
};

/// A kind of event, and its count.
struct counted {
    std::string   what;
    std::uint64_t count = 0;
};

/// Whether a call that only allocates for its caller is left out: `by_name`, if its name says so.
enum class folding : unsigned char { by_name, always, never };

/// A place in the code. Unknown parts are empty or 0.
struct place_record {
    std::string   module;  // the program or the library
    std::uint64_t offset  = 0;
    std::uint64_t address = 0;  // if no module is known
    std::string   file;
    std::uint64_t line = 0;
    std::string   function;
    bool          is_inlined = false;  // into the function of the next place of its stack
    folding       fold       = folding::by_name;  // not in a file

    bool is_known() const;
    bool operator==(const place_record& other) const;
};

/// Places, each called by the next one. Empty: unknown.
using stack_record = std::vector<place_record>;

/// Whether the program could still have reached a block at its end; `unknown`: nobody looked.
enum class block_reach : unsigned char { unknown, directly_lost, indirectly_lost, still_reachable };

/// "directly lost", as files have it; "" for unknown.
const char* reach_text(block_reach reach);

/// Blocks that one place allocated and that were never freed; or, in `allocated`, all that it ever
/// allocated.
struct site_record {
    block_reach   reach = block_reach::unknown;
    place_record  site;
    stack_record  stack;  // from the site on
    std::uint64_t blocks    = 0;
    std::uint64_t bytes     = 0;
    std::uint64_t oldest_ms = 0;
    std::uint64_t samples   = 0;  // 0: exact; else the numbers are scaled from so many blocks
};

/// The same, of one pool.
struct leak_record : site_record {
    std::string pool;
};

/// One of the last misuses.
struct event_record {
    std::string   kind;
    std::string   pool;
    std::uint64_t bytes      = 0;  // the requested bytes; 0: unknown
    std::int64_t  damaged    = 0;  // the first overwritten byte
    bool          is_damaged = false;
    place_record  site;
    place_record  alloc_site;
    place_record  free_site;
    stack_record  stack;  // from each of these on
    stack_record  alloc_stack;
    stack_record  free_stack;
};

/// All leaks, including those that are not listed.
struct leak_sum {
    bool          is_known = false;
    std::uint64_t places   = 0;
    std::uint64_t blocks   = 0;
    std::uint64_t bytes    = 0;
    std::uint64_t samples  = 0;  // as in site_record
};

/// How the blocks of processes at level "sample" were sampled, and the sum over `allocated`.
struct sampling_record {
    std::uint64_t period_bytes = 0;      // 1 sample in so many bytes on average; 0: none were
    bool          is_mixed     = false;  // other processes had another one
    std::uint64_t lost         = 0;      // samples that could not be noted
    leak_sum      sum;
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
    std::string               library;            // version of the library
    bool                      is_linked = false;  // the library is a part of the program
    bool                      is_beside = false;  // and the malloc library has a record as well
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
    leak_sum                  indirect;    // the part of `leaked` to which a lost block leads
    leak_sum                  reachable;   // not in `leaked`; not known if nobody looked
    leak_sum                  suppressed;  // was in `leaks` and `leaked`; not in a file
    std::vector<leak_record>  allocated;   // by sites, at level "sample"
    sampling_record           sampling;
    std::vector<event_record> events;
    std::uint64_t             without_stack = 0;  // requests, at "track" and "sample"
    int                       signal = 0;  // that ended the process, as it says itself; 0: none
    std::string               no_report;   // why the numbers are from the live file; empty: they
                                           // are those of the process's own report

    /// Those that its malloc has served.
    std::uint64_t requests() const;
};

/// Processes of one program that began on pools, or with a library that the program links, and left
/// no report, for one reason.
struct silent_record {
    std::string   program;
    std::string   reason;         // a clause for people
    std::uint64_t pid       = 0;  // the number of one of the processes
    std::uint64_t processes = 1;
    bool          is_linked = false;
};

struct timeline_pool {
    std::string                name;
    std::vector<std::uint64_t> bytes_in_use;
};

/// Memory over time: what all processes of a run had together at some moments. All lists are as
/// long as `at_s`, which never falls.
struct timeline_record {
    std::uint64_t              started_ns = 0;  // start of the run, by the clock of processes
    std::vector<double>        at_s;            // since the start of the run
    std::vector<std::uint64_t> processes;
    std::vector<std::uint64_t> bytes_in_use;  // without free blocks that threads kept
    std::vector<std::uint64_t> bytes_held;
    std::vector<std::uint64_t> bytes_resident;
    std::vector<timeline_pool> pools;  // the largest
};

struct run_record {
    std::vector<std::string>    command;
    int                         exit_status = 0;  // 128 + n: ended by signal n
    double                      wall_s      = 0;
    std::uint64_t               unreadable  = 0;  // process files that could not be read
    std::vector<process_record> processes;
    std::vector<silent_record>  silent   = {};
    timeline_record             timeline = {};  // empty: not known
};

/// Reads a report, which is untrusted: it may be truncated, of another kind, or hostile. Throws
/// failure, whose text names the file and the place in it.
run_record read_report(const std::string& path);

/// Reads a report, or each report that egb_report_write() has put into a folder: every process that
/// wrote there is a run.
std::vector<run_record> read_runs(const std::string& path);

/// Like read_report(), from a text. `path` is for messages.
run_record parse_report(const std::string& text, const std::string& path);

/// A run of one process alone.
run_record run_of(std::vector<process_record> records);

/// Reads the file that one process wrote.
process_record read_process(const std::string& path);

/// Like read_process(), from a text. `path` is for messages.
process_record parse_process(const std::string& text, const std::string& path);

/// Adds the numbers of samples.
void combine_sampling(sampling_record& to, const sampling_record& from);

/// Adds counts, and takes the maximum of peaks.
void combine_large(large_record& to, const large_record& from);

/// Adds counts of the same kind, and keeps the order of appearance. It does not look at all kinds
/// for each one: a file may have a million.
class counted_sums
{
  public:
    explicit counted_sums(std::vector<counted>& to);

    void add(const std::vector<counted>& from);

  private:
    std::vector<counted>&              to_;
    std::map<std::string, std::size_t> places_;
};

/// The files of one process number, in any order, become records for each process: one of the
/// malloc library, one of a library that the program links, or both. If the process called exec, a
/// record covers all its programs, under the name of the last.
std::vector<std::vector<process_record>> whole_processes(std::vector<process_record> files);

/// Adds another process to the record `group`.
void join(process_record& group, const process_record& another);

/// The text of a report file, with a line end.
std::string report_text(const run_record& run);

/// Reads a whole file. Throws failure if it cannot, or if it is larger than any report.
std::string read_file(const std::string& path);

}  // namespace tool
