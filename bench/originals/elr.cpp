// SPDX-License-Identifier: MIT
// The benchmark of elr_mpl's article and its test.c: for each of eleven sizes a new pool, and 1,000
// throws of a coin: take one block more, or give the newest one back. The processor's counter is
// read around each single call, and around a write to the last byte of each new block. A figure is
// the mean of a call's cycles, including the cycles of the counter itself.
//
// Before that test.c makes a pool with callbacks, uses it and ends it, and so does this program.
//
// `elr` is the document's program, with all sizes in one process, smallest first; its warm passes
// are the whole program once more, pools made anew. In `elr_kept` a size's pool stays for its later
// passes. Two things are not as in the document: the coins are the same for all rivals, and
// malloc's remaining blocks are freed after each size.
#include "../ticks.hpp"
#include "rivals.hpp"

#include "eggbox/compat/elr_mpl.h"

namespace
{

using namespace originals;
using bench::ticks;

constexpr std::size_t steps = 1000;

class with_malloc : public malloc_heap
{
  public:
    explicit with_malloc(std::size_t) {}
};

class with_elr
{
  public:
    static constexpr const char* name = "elr_mpl";

    explicit with_elr(std::size_t block_bytes) : pool_(elr_mpl_create(nullptr, block_bytes)) {}

    ~with_elr()
    {
        elr_mpl_destroy(&pool_);
    }

    with_elr(const with_elr&)            = delete;
    with_elr& operator=(const with_elr&) = delete;

    void* take(std::size_t)
    {
        return elr_mpl_alloc(&pool_);
    }

    void give(void* block)
    {
        elr_mpl_free(block);
    }

  private:
    elr_mpl_t pool_;
};

// Fresh blocks are zero, as elr_mpl's were.
class with_pool : public pool_native
{
  public:
    explicit with_pool(std::size_t block_bytes) : pool_native(block_bytes, EGB_FRESH_ZERO) {}
};

struct stack {
    void*       blocks[steps];
    std::size_t count;
};

bool  coins[steps];  // whether each step takes
stack live;

void throw_coins()
{
    std::uint64_t random = 1;
    for (bool& coin : coins) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        coin   = (random >> 33) % 100 < 50;
    }
}

template <class Rival>
void give_rest(Rival& rival)
{
    while (live.count > 0) {
        rival.give(live.blocks[--live.count]);
    }
}

// Means of alloc, free and access.
template <class Rival>
__attribute__((noinline)) void
pass(Rival& rival, std::size_t block_bytes, std::size_t count, double* columns)
{
    std::uint64_t alloc = 0, freed = 0, access = 0, allocs = 0, frees = 0;
    for (std::size_t i = 0; i < count; i++) {
        if (coins[i]) {
            std::uint64_t from  = ticks();
            void*         block = rival.take(block_bytes);
            alloc += ticks() - from;
            bench::keep(block);
            from                          = ticks();
            last_byte(block, block_bytes) = 0;
            bench::settle();
            access += ticks() - from;
            allocs++;
            live.blocks[live.count++] = block;
        } else if (live.count > 0) {
            void*               block = live.blocks[--live.count];
            const std::uint64_t from  = ticks();
            rival.give(block);
            bench::settle();
            freed += ticks() - from;
            frees++;
        }
    }
    give_rest(rival);
    columns[0] = static_cast<double>(alloc) / static_cast<double>(allocs);
    columns[1] = static_cast<double>(freed) / static_cast<double>(frees);
    columns[2] = static_cast<double>(access) / static_cast<double>(allocs);
}

// The same steps, untimed: the written bytes are still there when a block goes back.
template <class Rival>
std::uint64_t checked(std::size_t block_bytes, std::size_t count)
{
    Rival         rival(block_bytes);
    std::uint64_t hash = 0;
    for (std::size_t i = 0; i < count; i++) {
        if (coins[i]) {
            void* const block             = rival.take(block_bytes);
            last_byte(block, block_bytes) = static_cast<unsigned char>(i);
            live.blocks[live.count++]     = block;
        } else if (live.count > 0) {
            void* const block = live.blocks[--live.count];
            hash              = hash * 31 + last_byte(block, block_bytes);
            rival.give(block);
        }
    }
    give_rest(rival);
    return hash;
}

extern "C" void called_back(void*) {}

void make_one_with_callbacks()
{
    elr_mpl_t pool = elr_mpl_create(nullptr, 256, called_back, called_back);
    elr_mpl_free(elr_mpl_alloc(&pool));
    (void)elr_mpl_alloc(&pool);
    elr_mpl_destroy(&pool);
}

void begin(records& out)
{
    throw_coins();
    (void)elr_mpl_init();
    make_one_with_callbacks();
    for (std::size_t bytes = 16; bytes <= 16384; bytes *= 2) {
        record& mine    = out.all[out.count++];
        mine.size       = bytes;
        mine.pass_count = passes;
    }
}

template <class Rival>
void end(records& out, std::size_t count)
{
    for (record& mine : out.all) {
        mine.hash = checked<Rival>(mine.size, count);
    }
    elr_mpl_finalize();
}

template <class Rival>
void run(const one_case& what, scale size, records& out)
{
    const std::size_t count = size.of(what.count);
    begin(out);
    for (std::size_t turn = 0; turn < passes; turn++) {
        for (record& mine : out.all) {
            Rival rival(mine.size);
            pass(rival, mine.size, count, mine.passes[turn]);
        }
    }
    end<Rival>(out, count);
}

template <class Rival>
void run_kept(const one_case& what, scale size, records& out)
{
    const std::size_t count = size.of(what.count);
    begin(out);
    for (record& mine : out.all) {
        Rival rival(mine.size);
        for (std::size_t turn = 0; turn < passes; turn++) {
            pass(rival, mine.size, count, mine.passes[turn]);
        }
    }
    end<Rival>(out, count);
}

template <class Rival>
void add(all_cases& cases)
{
    one_case one{
        named("elr"), Rival::name, "cycles", {"alloc", "free", "access"}, run<Rival>, 0, steps
    };
    cases.add(one);
    one.name = named("elr_kept");
    one.run  = run_kept<Rival>;
    cases.add(one);
}

}  // namespace

void originals::add_elr(all_cases& cases)
{
    add<with_malloc>(cases);
    add<with_elr>(cases);
    add<with_pool>(cases);
}
