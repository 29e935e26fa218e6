// SPDX-License-Identifier: MIT
// Shared by all benchmarks: memory to put pools in, barriers, and the check that every rival did
// the same work.
//
// A rival is a class with
//
//     static constexpr const char* name;
//     Rival(place where, std::size_t block_bytes, std::size_t count);  // room for `count` blocks
//     void* take();
//     void  give(void* block);
//
// and may ignore `where`. Each loop is one template, instantiated for every rival and never inlined
// into google-benchmark's code, so that the code around take and give is the same for all and easy
// to find in a disassembly.
#ifndef EGGBOX_BENCH_BENCH_HPP
#define EGGBOX_BENCH_BENCH_HPP

#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <new>
#include <string>

namespace bench
{

// Says to the compiler: `block` and all memory may be read and changed here. It can then neither
// drop the allocation, nor keep a pool's fields in registers from one call to the next.
inline __attribute__((always_inline)) void keep(void*& block)
{
    asm volatile("" : "+r"(block) : : "memory");
}

// The same without a block: after a give.
inline __attribute__((always_inline)) void settle()
{
    asm volatile("" : : : "memory");
}

// In front of take and give of rivals that are headers: otherwise the size of the loop decides
// whether the compiler inlines them.
#define BENCH_INLINE inline __attribute__((always_inline))

// The caller's use of a block: it writes and reads the first 8 bytes, as a pointer or a number.
inline __attribute__((always_inline)) std::uint64_t& content(void* block)
{
    return *static_cast<std::uint64_t*>(block);
}

// Memory for a rival.
struct place {
    std::byte*  at;
    std::size_t bytes;
};

// Bytes that a rival may need beyond its blocks: Boost.Pool ends its region with two words.
constexpr std::size_t slack_bytes = 8192;

// Memory that is the same in every benchmark of the process, so that its pages are there already.
// One user at a time.
place warm(std::size_t bytes);

// A mapping of its own, with no page in memory yet.
class fresh
{
  public:
    explicit fresh(std::size_t bytes);
    ~fresh();
    fresh(const fresh&)            = delete;
    fresh& operator=(const fresh&) = delete;

    place where() const
    {
        return where_;
    }

    // The number of its pages that are in memory now.
    std::size_t resident_pages() const;

  private:
    place where_;
};

// Pages of this process that are in memory now.
std::size_t resident_pages();

// The place of a rival's object: the same place of a page in every process. On the stack it would
// lie elsewhere each time. If a pool's fields are then a multiple of 4 KiB from the words that the
// loop writes, the processor takes the one for the other and waits: twice the time, by chance.
template <class Rival>
class seated
{
  public:
    template <class... Arguments>
    explicit seated(Arguments... arguments)
    {
        void* at = seat_ + seat_offset;
        keep(at);  // otherwise some loops would be compiled for this address alone
        rival_ = ::new (at) Rival(arguments...);
    }

    ~seated()
    {
        rival_->~Rival();
    }

    seated(const seated&)            = delete;
    seated& operator=(const seated&) = delete;

    Rival& operator*() const
    {
        return *rival_;
    }

  private:
    static constexpr std::size_t seat_offset = 2048;

    alignas(4096) static inline unsigned char seat_[seat_offset + sizeof(Rival)];

    Rival* rival_;
};

// Shows `hash` as a counter, and fails the benchmark if another rival got a different one for the
// same `work`. Hashes are of a fixed number of operations, done by the timed code before the clock
// starts.
void same_work(benchmark::State& state, const std::string& work, std::uint64_t hash);

// A benchmark that could not run: the program's exit status shows it.
void fail(benchmark::State& state, const char* why);

// Page faults of this process so far that needed no disk.
std::size_t page_faults();

// Smoke: small numbers, so that every benchmark runs in milliseconds.
struct scale {
    bool        smoke;
    std::size_t frames;  // frames of each loop; two numbers give the cost of one frame
};

// One per file.
void add_pair(scale size);
void add_batch(scale size);
void add_churn(scale size);
void add_create(scale size);
void add_ping_pong(scale size);
void add_first_touch(scale size);
void add_threads(scale size);
void add_frames(scale size);
void add_trees(scale size);
void add_elr(scale size);

// The name that scripts/bench.py takes apart again.
inline std::string case_name(const char* pattern, std::size_t size, const char* rival)
{
    return std::string(pattern) + '/' + std::to_string(size) + '/' + rival;
}

}  // namespace bench

#endif  // EGGBOX_BENCH_BENCH_HPP
