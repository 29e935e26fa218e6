// SPDX-License-Identifier: MIT
// The common benchmark of Allocator, xallocator and C_Allocator: N blocks of half a size and N of
// the size, in five phases that are timed one by one:
//
//     1. allocate N of half the size    2. free every second one    3. allocate N of the size
//     4. free the others                5. free those of phase 3, last one first
//
// Three runs in one process, the first of them cold. The documents never touch a block. That
// flatters pools, which then have no page faults. A second case, `_touched`, is fairer: the first
// and the last byte of each block are written when it is allocated.
//
// Five more runs follow here. An allocator that does not put a free block back in its place hands
// out some in the second and the third run that nobody has touched yet. Its warm time shows later.
//
// `stm32` has the numbers that were run on a microcontroller: 500 blocks, of 16 and 32 bytes. Here
// they run on this machine.
#ifndef EGGBOX_BENCH_ORIGINALS_PHASES_HPP
#define EGGBOX_BENCH_ORIGINALS_PHASES_HPP

#include "rivals.hpp"

namespace originals
{

constexpr std::size_t blocks_max      = 10000;
constexpr std::size_t runs            = passes_max;
constexpr std::size_t stm32_bytes     = 32;
constexpr std::size_t stm32_count     = 500;
constexpr std::size_t document_blocks = 2 * blocks_max;  // in their static pools

struct phase_blocks {
    void* half[blocks_max];
    void* full[blocks_max];
};

inline phase_blocks in_use;

template <bool Touches, class Rival>
__attribute__((noinline)) void
allocate(Rival& rival, void** blocks, std::size_t count, std::size_t bytes)
{
    for (std::size_t i = 0; i < count; i++) {
        void* block = rival.take(bytes);
        bench::keep(block);
        if (Touches) {
            first_byte(block)       = static_cast<unsigned char>(i);
            last_byte(block, bytes) = static_cast<unsigned char>(i);
        }
        blocks[i] = block;
    }
}

template <class Rival>
__attribute__((noinline)) void
free_every_second(Rival& rival, void** blocks, std::size_t from, std::size_t count)
{
    for (std::size_t i = from; i < count; i += 2) {
        rival.give(blocks[i]);
        bench::settle();
    }
}

template <class Rival>
__attribute__((noinline)) void free_from_the_last(Rival& rival, void** blocks, std::size_t count)
{
    for (std::size_t i = count; i-- > 0;) {
        rival.give(blocks[i]);
        bench::settle();
    }
}

template <bool Touches, class Rival>
void one_run(Rival& rival, std::size_t bytes, std::size_t count, double* columns)
{
    double     from  = nanoseconds();
    const auto phase = [&](std::size_t number) {
        columns[number] = nanoseconds() - from;
        from            = nanoseconds();
    };
    allocate<Touches>(rival, in_use.half, count, bytes / 2);
    phase(0);
    free_every_second(rival, in_use.half, 0, count);
    phase(1);
    allocate<Touches>(rival, in_use.full, count, bytes);
    phase(2);
    free_every_second(rival, in_use.half, 1, count);
    phase(3);
    free_from_the_last(rival, in_use.full, count);
    phase(4);
}

// The same calls, untimed. The contents of a block must still be there when it goes back.
template <class Rival>
std::uint64_t checked(Rival& rival, std::size_t bytes, std::size_t count)
{
    std::uint64_t hash = 0;
    const auto    fill = [&](void** blocks, std::size_t block_bytes, std::uint64_t add) {
        for (std::size_t i = 0; i < count; i++) {
            bench::content(blocks[i])         = i + add;
            last_byte(blocks[i], block_bytes) = static_cast<unsigned char>(add);
        }
    };
    const auto read = [&](void** blocks, std::size_t from, std::size_t step, std::size_t size) {
        for (std::size_t i = from; i < count; i += step) {
            hash = hash * 31 + bench::content(blocks[i]) + last_byte(blocks[i], size);
        }
    };
    allocate<true>(rival, in_use.half, count, bytes / 2);
    fill(in_use.half, bytes / 2, 7);
    read(in_use.half, 0, 2, bytes / 2);
    free_every_second(rival, in_use.half, 0, count);
    allocate<true>(rival, in_use.full, count, bytes);
    fill(in_use.full, bytes, 1000000);
    read(in_use.half, 1, 2, bytes / 2);
    free_every_second(rival, in_use.half, 1, count);
    read(in_use.full, 0, 1, bytes);
    free_from_the_last(rival, in_use.full, count);
    return hash;
}

template <bool Touches, class Rival>
void run_phases(const one_case& what, scale size, records& out)
{
    static Rival      rival;  // static, as the documents have theirs
    const std::size_t count = size.of(what.count);
    record&           mine  = out.all[out.count++];
    for (std::size_t run = 0; run < runs; run++) {
        one_run<Touches>(rival, what.block_bytes, count, mine.passes[run]);
        mine.pass_count++;
    }
    mine.hash = checked(rival, what.block_bytes, count);
}

template <class Rival>
void add_phases(all_cases& cases, const char* document, std::size_t bytes, std::size_t count)
{
    one_case one{
        named("%s", document),
        Rival::name,
        "ns",
        {"1: allocate half", "2: free even", "3: allocate full", "4: free odd", "5: free full"},
        run_phases<false, Rival>,
        bytes,
        count
    };
    cases.add(one);
    one.name = named("%s_touched", document);
    one.run  = run_phases<true, Rival>;
    cases.add(one);
}

// The numbers of both machines: Rival<bytes, blocks of a pool>.
template <template <std::size_t, std::size_t> class Rival>
void add_both(all_cases& cases, const char* document)
{
    add_phases<Rival<4096, document_blocks>>(cases, document, 4096, blocks_max);
    add_phases<Rival<stm32_bytes, 2 * stm32_count>>(cases, "stm32", stm32_bytes, stm32_count);
}

}  // namespace originals

#endif  // EGGBOX_BENCH_ORIGINALS_PHASES_HPP
