// SPDX-License-Identifier: MIT
// D. Lafreniere's allocators, written anew from their descriptions, to run beside ours on the same
// machine: Allocator with its static pool and its heap blocks, xallocator, fb_allocator and
// x_allocator.
//
// Kept: the newest free block first, by a pointer in its first word; one lock for all if there was
// one; the classes of xallocator, searched one by one; the pointer to its pool in front of each of
// its blocks and of x_allocator's; the counters; functions that are called, because theirs stand in
// files of their own. Left out: names, new-handlers, and calls that end the program.
#ifndef EGGBOX_BENCH_ORIGINALS_DESCRIBED_HPP
#define EGGBOX_BENCH_ORIGINALS_DESCRIBED_HPP

#include <cstddef>
#include <cstdint>
#include <mutex>

namespace described
{

// The memory of a static pool.
template <std::size_t Bytes, std::size_t Count>
alignas(16) inline unsigned char memory[Bytes * Count];

struct header {
    void* pool;
};

class allocator
{
  public:
    // Heap blocks.
    explicit allocator(std::size_t block_bytes) : block_bytes_(block_bytes) {}

    // A static pool.
    allocator(std::size_t block_bytes, std::size_t blocks, unsigned char* memory)
        : memory_(memory), block_bytes_(block_bytes), blocks_(blocks)
    {
    }

    std::size_t block_bytes() const
    {
        return block_bytes_;
    }

    __attribute__((noinline)) void* take(std::size_t bytes)
    {
        void* block = bytes <= block_bytes_ ? pop() : nullptr;
        if (block == nullptr) {
            if (memory_ == nullptr) {
                block = new unsigned char[block_bytes_];
            } else if (used_ < blocks_) {
                block = memory_ + used_++ * block_bytes_;
            }
        }
        in_use_++;
        allocations_++;
        return block;
    }

    __attribute__((noinline)) void give(void* block)
    {
        push(block);
        in_use_--;
        deallocations_++;
    }

  private:
    struct free_block {
        free_block* next;
    };

    void* pop()
    {
        free_block* const block = head_;
        if (block != nullptr) {
            head_ = block->next;
        }
        return block;
    }

    void push(void* block)
    {
        auto* const freed = static_cast<free_block*>(block);
        freed->next       = head_;
        head_             = freed;
    }

    free_block*    head_   = nullptr;
    unsigned char* memory_ = nullptr;
    std::size_t    block_bytes_;
    std::size_t    blocks_        = 0;
    std::size_t    used_          = 0;
    std::uint32_t  in_use_        = 0;
    std::uint32_t  allocations_   = 0;
    std::uint32_t  deallocations_ = 0;
};

// xallocator, with a pool of heap blocks for each class that was requested.
class by_class
{
  public:
    __attribute__((noinline)) void* take(std::size_t bytes)
    {
        const std::lock_guard<std::mutex> hold(lock_);
        allocator* const                  pool  = pool_for(bytes + sizeof(header));
        auto* const                       block = static_cast<header*>(pool->take(bytes));
        block->pool                             = pool;
        return block + 1;
    }

    __attribute__((noinline)) void give(void* address)
    {
        header* const                     block = static_cast<header*>(address) - 1;
        const std::lock_guard<std::mutex> hold(lock_);
        static_cast<allocator*>(block->pool)->give(block);
    }

  private:
    static constexpr std::size_t pools_max = 15;

    static std::size_t class_of(std::size_t bytes)
    {
        if (bytes > 256 && bytes <= 396) {
            return 396;
        }
        if (bytes > 512 && bytes <= 768) {
            return 768;
        }
        std::size_t rounded = sizeof(void*);
        while (rounded < bytes) {
            rounded *= 2;
        }
        return rounded;
    }

    allocator* pool_for(std::size_t bytes)
    {
        const std::size_t size = class_of(bytes);
        std::size_t       i    = 0;
        while (i < pools_max && pools_[i] != nullptr) {
            if (pools_[i]->block_bytes() == size) {
                return pools_[i];
            }
            i++;
        }
        return pools_[i] = new allocator(size);
    }

    std::mutex lock_;
    allocator* pools_[pools_max + 1] = {};
};

// fb_allocator: a static pool, and one lock for all pools.
class locked
{
  public:
    locked(std::size_t block_bytes, std::size_t blocks, unsigned char* memory)
        : pool_(block_bytes, blocks, memory)
    {
    }

    std::size_t block_bytes() const
    {
        return pool_.block_bytes();
    }

    __attribute__((noinline)) void* take(std::size_t bytes)
    {
        const std::lock_guard<std::mutex> hold(lock);
        return pool_.take(bytes);
    }

    __attribute__((noinline)) void give(void* block)
    {
        const std::lock_guard<std::mutex> hold(lock);
        pool_.give(block);
    }

  private:
    static inline std::mutex lock;
    allocator                pool_;
};

// x_allocator: the first of its pools whose blocks are large enough.
class by_size
{
  public:
    by_size(locked* const* pools, std::size_t count) : pools_(pools), count_(count) {}

    __attribute__((noinline)) void* take(std::size_t bytes)
    {
        std::size_t i = 0;
        while (i < count_ && pools_[i]->block_bytes() < bytes + sizeof(header)) {
            i++;
        }
        auto* const block = static_cast<header*>(pools_[i]->take(bytes + sizeof(header)));
        block->pool       = pools_[i];
        return block + 1;
    }

    __attribute__((noinline)) static void give(void* address)
    {
        header* const block = static_cast<header*>(address) - 1;
        static_cast<locked*>(block->pool)->give(block);
    }

  private:
    locked* const* pools_;
    std::size_t    count_;
};

}  // namespace described

#endif  // EGGBOX_BENCH_ORIGINALS_DESCRIBED_HPP
