// SPDX-License-Identifier: MIT
// The benchmarks of the older libraries, anew from their descriptions: one file for each document.
//
// A process runs one case for one rival, so that its first pass is cold: no page of its memory is
// there yet. The passes after it are warm. The timed passes write no more than the document's did.
// The last pass is not timed: it writes to all blocks and makes a hash of the bytes that it reads
// back, which has to be the same for all rivals.
//
// Times are CPU time, without the time of other programs; those of elr_mpl are cycles of the
// processor's counter, as its authors measured.
#ifndef EGGBOX_BENCH_ORIGINALS_ORIGINALS_HPP
#define EGGBOX_BENCH_ORIGINALS_ORIGINALS_HPP

#include "../bench.hpp"

#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <time.h>

namespace originals
{

constexpr std::size_t columns_max = 5;
constexpr std::size_t passes      = 5;  // the first one is cold
constexpr std::size_t passes_max  = 8;  // in a case with more passes, see phases.hpp
constexpr std::size_t sizes_max   = 11;

// The result of one case, and of one size if the case has several.
struct record {
    std::size_t   size;
    std::uint64_t hash;
    std::size_t   pass_count;
    double        passes[passes_max][columns_max];  // as many as the case has columns
};

// Static: only the rival allocates between two passes.
struct records {
    record      all[sizes_max];
    std::size_t count;
};

struct scale {
    bool quick;  // small numbers, so that every case runs in milliseconds

    std::size_t of(std::size_t count) const
    {
        return quick ? count / 20 : count;
    }
};

struct case_name {
    char text[32];
};

__attribute__((format(printf, 1, 2))) inline case_name named(const char* format, ...)
{
    case_name    name{};
    std::va_list values;
    va_start(values, format);
    (void)std::vsnprintf(name.text, sizeof name.text, format, values);
    va_end(values);
    return name;
}

struct one_case {
    case_name   name;
    const char* rival;
    const char* unit;
    const char* columns[columns_max];  // behind the last one nullptr
    void (*run)(const one_case& what, scale size, records& out);
    std::size_t block_bytes, count;
};

// Static, too, and without strings and vectors: malloc's first pass would not be cold in a process
// that had some before.
class all_cases
{
  public:
    void add(const one_case& one)
    {
        if (count_ == cases_max) {
            std::abort();
        }
        all_[count_++] = one;
    }

    const one_case* begin() const
    {
        return all_;
    }

    const one_case* end() const
    {
        return all_ + count_;
    }

  private:
    static constexpr std::size_t cases_max = 256;

    one_case    all_[cases_max] = {};
    std::size_t count_          = 0;
};

// One per file.
void add_kenwright(all_cases& cases);
void add_elr(all_cases& cases);
void add_allocator(all_cases& cases);
void add_xallocator(all_cases& cases);
void add_c_allocator(all_cases& cases);
void add_containers(all_cases& cases);

// CPU time of this thread.
inline double nanoseconds()
{
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

inline unsigned char& first_byte(void* block)
{
    return *static_cast<unsigned char*>(block);
}

inline unsigned char& last_byte(void* block, std::size_t bytes)
{
    return static_cast<unsigned char*>(block)[bytes - 1];
}

}  // namespace originals

#endif  // EGGBOX_BENCH_ORIGINALS_ORIGINALS_HPP
