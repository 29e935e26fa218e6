// SPDX-License-Identifier: MIT
// Plain malloc, free and realloc from one thread.
#include "heap.hpp"

#include <cstring>
#include <utility>
#include <vector>

namespace
{

using namespace heap_bench;

// Replaces a random one of `live` blocks of mixed sizes, as a long-running program does.
std::uint64_t churn(std::size_t live, std::size_t count, std::size_t most_bytes)
{
    random_numbers              random(live);
    std::vector<unsigned char*> blocks(live);
    std::uint64_t               sum = 0;
    for (unsigned char*& block : blocks) {
        block = filled(random.bytes(most_bytes), 1);
    }
    for (std::size_t i = 0; i < count; i++) {
        unsigned char*& victim = blocks[random.below(live)];
        sum += *victim;
        std::free(victim);
        victim = filled(random.bytes(most_bytes), static_cast<unsigned char>(i));
    }
    for (unsigned char* block : blocks) {
        sum += *block;
        std::free(block);
    }
    return sum;
}

enum class order { newest_first, oldest_first, random };

void shuffle(std::vector<unsigned char*>& blocks, random_numbers& random)
{
    for (std::size_t i = blocks.size(); i > 1; i--) {
        std::swap(blocks[i - 1], blocks[random.below(i)]);
    }
}

// Take many blocks, give all of them back: phases of a program.
std::uint64_t batches(order back, scale size)
{
    constexpr std::size_t       count      = 10000;
    constexpr std::size_t       most_bytes = 512;
    random_numbers              random(3);
    std::vector<unsigned char*> blocks(count);
    std::uint64_t               sum = 0;
    for (std::size_t round = 0; round < size.of(900); round++) {
        for (unsigned char*& block : blocks) {
            block = filled(random.bytes(most_bytes), static_cast<unsigned char>(round));
        }
        if (back == order::random) {
            shuffle(blocks, random);
        }
        for (std::size_t i = 0; i < count; i++) {
            unsigned char* const block = blocks[back == order::newest_first ? count - 1 - i : i];
            sum += *block;
            std::free(block);
        }
    }
    return sum;
}

// Grows one buffer by steps to `bytes`, as readers of files and builders of text do.
std::uint64_t grow_by_steps(std::size_t bytes, std::size_t step)
{
    char*         buffer = nullptr;
    std::uint64_t sum    = 0;
    for (std::size_t have = 0; have < bytes; have += step) {
        buffer = static_cast<char*>(std::realloc(buffer, have + step));
        if (buffer == nullptr) {
            std::abort();
        }
        std::memset(buffer + have, static_cast<int>(have / step & 127), step);
        sum += static_cast<unsigned char>(buffer[have / 2]);
    }
    std::free(buffer);
    return sum;
}

// Many buffers that double in turns; none has room behind it.
std::uint64_t grow_side_by_side(std::size_t buffers, std::size_t doublings)
{
    std::vector<char*> all(buffers);
    std::uint64_t      sum = 0;
    for (std::size_t bytes = 16; bytes < std::size_t{16} << doublings; bytes *= 2) {
        for (char*& buffer : all) {
            buffer = static_cast<char*>(std::realloc(buffer, bytes));
            if (buffer == nullptr) {
                std::abort();
            }
            std::memset(buffer + bytes / 2, static_cast<int>(bytes % 100), bytes / 2);
            sum += static_cast<unsigned char>(buffer[bytes / 2]);
        }
    }
    for (char* buffer : all) {
        std::free(buffer);
    }
    return sum;
}

}  // namespace

std::uint64_t heap_bench::churn_few(scale size)
{
    return churn(1000, size.of(10000000), 4096);
}

std::uint64_t heap_bench::churn_many(scale size)
{
    return churn(size.of(200000), size.of(3000000), 32768);
}

std::uint64_t heap_bench::batch_lifo(scale size)
{
    return batches(order::newest_first, size);
}

std::uint64_t heap_bench::batch_fifo(scale size)
{
    return batches(order::oldest_first, size);
}

std::uint64_t heap_bench::batch_random(scale size)
{
    return batches(order::random, size);
}

// Blocks of 64 KiB to 4 MiB, 16 of them live; a word of each page is written.
std::uint64_t heap_bench::large(scale size)
{
    random_numbers random(5);
    return replace_paged(random, 16, size.of(4000), [](random_numbers& numbers) {
        const std::size_t least = std::size_t{65536} << numbers.below(7);
        return least + numbers.below(65536);
    });
}

std::uint64_t heap_bench::growth(scale size)
{
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < size.of(300); i++) {
        sum += grow_by_steps(16384, 24);
        sum += grow_by_steps(1 << 20, 4096);
        sum += grow_side_by_side(200, 8);
    }
    for (std::size_t i = 0; i < size.of(20); i++) {
        std::vector<std::uint64_t> numbers;
        for (std::size_t k = 0; k < 1000000; k++) {
            numbers.push_back(k);
        }
        sum += numbers[i];
    }
    return sum;
}

// Many arrays grow side by side, each by half of its size: a program's vectors.
std::uint64_t heap_bench::vectors(scale size)
{
    struct array {
        unsigned char* start = nullptr;
        std::size_t    used  = 0;
        std::size_t    room  = 0;
    };
    constexpr std::size_t step    = 16;
    constexpr std::size_t longest = 65536;
    random_numbers        random(11);
    std::vector<array>    arrays(2000);
    std::uint64_t         sum = 0;
    for (std::size_t i = 0; i < size.of(6000000); i++) {
        array& one = arrays[random.below(arrays.size())];
        if (one.used == one.room) {
            one.room  = (one.room + one.room / 2 + step) / step * step;
            one.start = static_cast<unsigned char*>(std::realloc(one.start, one.room));
            if (one.start == nullptr) {
                std::abort();
            }
        }
        one.start[one.used] = static_cast<unsigned char>(i);
        one.used += step;
        sum += one.start[one.used / step / 2 * step];
        if (one.used > longest) {
            std::free(one.start);
            one = array();
        }
    }
    for (const array& one : arrays) {
        std::free(one.start);
    }
    return sum;
}

// Sizes follow each other, and one of 500 blocks outlives its phase.
std::uint64_t heap_bench::phases(scale size)
{
    random_numbers              random(13);
    std::vector<unsigned char*> stay;
    std::uint64_t               sum = 0;
    for (std::size_t bytes = 32; bytes <= 1024; bytes += 32) {
        std::vector<unsigned char*> blocks(size.of(16 << 20) / bytes);
        for (unsigned char*& block : blocks) {
            block = filled(bytes, static_cast<unsigned char>(bytes / 32));
        }
        for (unsigned char* block : blocks) {
            sum += *block;
            if (random.below(500) == 0) {
                stay.push_back(block);
            } else {
                std::free(block);
            }
        }
    }
    for (unsigned char* block : stay) {
        sum += *block;
        std::free(block);
    }
    return sum;
}
