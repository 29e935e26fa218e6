// SPDX-License-Identifier: MIT
// B. Kenwright, "Fast Efficient Fixed-Size Memory Pool", 2012, figures 3 and 4. The paper has the
// figures as images, and names neither sizes nor numbers nor the order of frees; this is our
// reading of it. n blocks of one size are allocated, a byte of each is written, then all are freed,
// newest first. The first pass includes making the pool.
//
// `kenwright_ping_pong`, which is not in the paper, takes one block and gives it back. The printed
// algorithm touches a block more each time, until there are none.
#include "rivals.hpp"

#include "../rivals/printed.hpp"
#include "eggbox/compat/Pool_c.h"

#include <eggbox/fixed.h>

#include <memory>

namespace
{

using namespace originals;

constexpr std::size_t count_max = 50000;
constexpr std::size_t sizes[]   = {16, 64, 256, 1024, 4096};

void* blocks[count_max];

class with_malloc
{
  public:
    static constexpr const char* name = malloc_heap::name;

    with_malloc(std::size_t block_bytes, std::size_t) : block_bytes_(block_bytes) {}

    void* take()
    {
        return std::malloc(block_bytes_);
    }

    void give(void* block)
    {
        std::free(block);
    }

  private:
    std::size_t block_bytes_;
};

class with_pool_c
{
  public:
    static constexpr const char* name = "Pool_c";

    with_pool_c(std::size_t block_bytes, std::size_t count)
    {
        pool_.CreatePool(block_bytes, static_cast<unsigned>(count));
    }

    void* take()
    {
        return pool_.Allocate();
    }

    void give(void* block)
    {
        pool_.DeAllocate(block);
    }

  private:
    Pool_c pool_;
};

class with_fixed
{
  public:
    static constexpr const char* name = "egb_fixed";

    with_fixed(std::size_t block_bytes, std::size_t count)
        : region_(new std::byte[block_bytes * count])
    {
        if (egb_fixed_init(&pool_, region_.get(), block_bytes * count, block_bytes) != EGB_OK) {
            std::abort();
        }
    }

    void* take()
    {
        return egb_fixed_alloc(&pool_);
    }

    void give(void* block)
    {
        egb_fixed_free(&pool_, block);
    }

  private:
    std::unique_ptr<std::byte[]> region_;
    egb_fixed                    pool_{};
};

// The algorithm as the paper prints it, on memory from the same source as its class.
class with_printed
{
  public:
    static constexpr const char* name = "printed";

    with_printed(std::size_t block_bytes, std::size_t count)
        : region_(new std::byte[block_bytes * count]),
          pool_(bench::place{region_.get(), block_bytes * count}, block_bytes, count)
    {
    }

    void* take()
    {
        return pool_.take();
    }

    void give(void* block)
    {
        pool_.give(block);
    }

  private:
    std::unique_ptr<std::byte[]> region_;
    bench::printed               pool_;
};

template <class Rival>
__attribute__((noinline)) void allocate(Rival& rival, std::size_t count)
{
    for (std::size_t i = 0; i < count; i++) {
        void* block = rival.take();
        bench::keep(block);
        first_byte(block) = static_cast<unsigned char>(i);
        blocks[i]         = block;
    }
}

template <class Rival>
__attribute__((noinline)) void free_all(Rival& rival, std::size_t count)
{
    for (std::size_t i = count; i-- > 0;) {
        rival.give(blocks[i]);
        bench::settle();
    }
}

template <class Rival>
std::uint64_t checked(Rival& rival, std::size_t count)
{
    allocate(rival, count);
    std::uint64_t hash = 0;
    for (std::size_t i = 0; i < count; i++) {
        bench::content(blocks[i]) = i;
    }
    for (std::size_t i = 0; i < count; i++) {
        hash = hash * 31 + bench::content(blocks[i]);
    }
    free_all(rival, count);
    return hash;
}

template <class Rival>
void run(const one_case& what, scale size, records& out)
{
    const std::size_t count = size.of(what.count);
    record&           mine  = out.all[out.count++];
    double            from  = nanoseconds();
    Rival             rival(what.block_bytes, count);
    for (std::size_t pass = 0; pass < passes; pass++) {
        allocate(rival, count);
        const double half    = nanoseconds();
        mine.passes[pass][0] = half - from;
        free_all(rival, count);
        mine.passes[pass][1] = nanoseconds() - half;
        mine.pass_count++;
        from = nanoseconds();
    }
    mine.hash = checked(rival, count);
}

constexpr std::size_t pairs = 1000000;

template <class Rival>
__attribute__((noinline)) void ping_pong(Rival& rival, std::size_t count)
{
    for (std::size_t i = 0; i < count; i++) {
        void* block = rival.take();
        bench::keep(block);
        first_byte(block) = static_cast<unsigned char>(i);
        rival.give(block);
        bench::settle();
    }
}

template <class Rival>
void run_ping_pong(const one_case& what, scale size, records& out)
{
    const std::size_t count = size.of(pairs);
    record&           mine  = out.all[out.count++];
    double            from  = nanoseconds();
    Rival             rival(what.block_bytes, what.count);
    for (std::size_t pass = 0; pass < passes; pass++) {
        ping_pong(rival, count);
        mine.passes[pass][0] = (nanoseconds() - from) / static_cast<double>(count);
        mine.pass_count++;
        from = nanoseconds();
    }
    mine.hash = checked(rival, 10);
}

template <class Rival>
void add(all_cases& cases, std::size_t block_bytes)
{
    for (const std::size_t count : {std::size_t{1000}, std::size_t{10000}, count_max}) {
        cases.add(
            {named("kenwright/%zu/%zu", block_bytes, count),
             Rival::name,
             "ns",
             {"allocate", "free"},
             run<Rival>,
             block_bytes,
             count}
        );
    }
    cases.add(
        {named("kenwright_ping_pong/%zu", block_bytes),
         Rival::name,
         "ns a pair",
         {"pair"},
         run_ping_pong<Rival>,
         block_bytes,
         10000}
    );
}

}  // namespace

void originals::add_kenwright(all_cases& cases)
{
    for (const std::size_t block_bytes : sizes) {
        add<with_malloc>(cases, block_bytes);
        add<with_pool_c>(cases, block_bytes);
        add<with_fixed>(cases, block_bytes);
        add<with_printed>(cases, block_bytes);
    }
}
