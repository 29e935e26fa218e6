// SPDX-License-Identifier: MIT
// Blocks that faults.cpp misuses, behind the compiler's back.
#ifndef EGGBOX_TESTS_MISUSE_BLOCKS_HPP
#define EGGBOX_TESTS_MISUSE_BLOCKS_HPP

#include <cstddef>
#include <cstdlib>
#include <thread>

#include <malloc.h>

enum verdict { no_damage = 0, usage = 2, damage = 3, wrong_answer = 4, stale_data = 5 };

inline constexpr std::size_t small       = 40;
inline constexpr std::size_t middling    = 256;
inline constexpr std::size_t large       = 1 << 20;
inline constexpr std::size_t mapped      = 65536;
inline constexpr int         others_most = 64;
inline constexpr int         blocks_most = 3000;

// The compiler must neither see that a pointer is dangling nor that a call has no effect.
template <class T>
T hidden(T value)
{
    volatile T place = value;
    return place;
}

inline char* block_of(std::size_t bytes)
{
    return static_cast<char*>(hidden(std::malloc(bytes)));
}

inline void put_back(void* block)
{
    std::free(hidden(block));
}

inline void put_back_on_a_thread(void* block)
{
    std::thread([block] { put_back(block); }).join();
}

inline void write_at(char* block, std::ptrdiff_t offset, int count)
{
    volatile char* const at = hidden(block);
    for (int i = 0; i < count; i++) {
        at[offset + i] = 'A';
    }
}

inline std::ptrdiff_t end_of(char* block)
{
    return static_cast<std::ptrdiff_t>(malloc_usable_size(block));
}

#endif  // EGGBOX_TESTS_MISUSE_BLOCKS_HPP
