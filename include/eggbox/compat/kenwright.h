// SPDX-License-Identifier: MIT
// Layer faces, compatibility: Pool_c, the class printed in B. Kenwright, "Fast Efficient Fixed-Size
// Memory Pool", 2012, on a fixed pool. C++ only.
//
// As in the paper, a fresh pool hands its blocks out in the order of addresses, and prefers the
// block freed last; there is nothing in or between blocks in use; the cost of making a pool does
// not depend on the number of blocks. Unlike in the paper, sizes have 64 bits, a pool may be made
// again, DeAllocate() refuses everything but a block in use, and any thread may use the pool.
#ifndef EGGBOX_COMPAT_KENWRIGHT_H
#define EGGBOX_COMPAT_KENWRIGHT_H

#include "../fixed.h"
#include "../heap.h"
#include "../lock.h"
#include "../make_once.hpp"

#include <cstddef>
#include <cstdint>
#include <new>
#include <stddef.h>

EGB_QUIET_BEGIN_

/// Threads  Any thread, for every call but CreatePool(), DestroyPool(), assignment and destruction.
///          The original was for one thread at a time.
class Pool_c
{
    typedef unsigned int  uint;
    typedef unsigned char uchar;

  public:
    Pool_c() noexcept {}

    /// The copy is a pool that is not created. A copy of the original class freed its blocks twice.
    Pool_c(const Pool_c&) noexcept {}

    /// As a copy: afterwards the pool is not created, whatever the other pool is.
    Pool_c& operator=(const Pool_c& other) noexcept
    {
        if (this != &other) {
            DestroyPool();
        }
        return *this;
    }

    /// Takes the pool over. No other thread may use it meanwhile.
    Pool_c(Pool_c&& other) noexcept
    {
        take(other);
    }

    Pool_c& operator=(Pool_c&& other) noexcept
    {
        if (this != &other) {
            DestroyPool();
            take(other);
        }
        return *this;
    }

    ~Pool_c()
    {
        DestroyPool();
    }

    /// Makes all blocks, and frees those of an earlier call. The size of a block is rounded up to a
    /// multiple of 4 bytes. The alignment is the largest power of two that divides it, up to a
    /// page. Calls the new-handler and throws std::bad_alloc.
    /// Cost     O(1); touches no block
    void CreatePool(size_t sizeOfEachBlock, uint numOfBlocks)
    {
        DestroyPool();
        if (numOfBlocks == 0) {
            return;
        }
        stride_             = stride_of(sizeOfEachBlock);
        const size_t region = stride_ == 0 ? 0 : egb_fixed_bytes(stride_, numOfBlocks);
        start_              = static_cast<uchar*>(alloc(region, align_of(stride_)));
        // This does not fail: region and stride are valid.
        const egb_status status = egb_fixed_init(&blocks_, start_, region, stride_);
        (void)status;
    }

    /// Ends all blocks. The pool is as before CreatePool(), which may be called again.
    void DestroyPool()
    {
        egb_free(start_);
        blocks_ = egb_fixed();
        start_  = nullptr;
        stride_ = 0;
    }

    /// The address of block `i`; NULL if the pool is not created.
    uchar* AddrFromIndex(uint i) const
    {
        return start_ == nullptr ? nullptr : start_ + i * stride_;
    }

    /// The index of the block that contains an address; 0 if the pool is not created.
    uint IndexFromAddr(const uchar* p) const
    {
        return stride_ == 0 ? 0 : static_cast<uint>(static_cast<size_t>(p - start_) / stride_);
    }

    /// Takes a block.
    ///
    /// Returns  the block freed last, else the next fresh one; NULL if all are in use, or the pool
    ///          is not created.
    /// Cost     O(1), and a lock
    void* Allocate()
    {
        if (EGB_LIKELY(egb_lock_take_alone_(&lock_.lock))) {
            const bool  can   = egb_fixed_can_pop_(&blocks_);
            void* const block = can ? egb_fixed_pop_(&blocks_) : nullptr;
            egb_lock_give_alone_(&lock_.lock);
            if (EGB_LIKELY(can)) {
                return block;
            }
        }
        return take_with_lock();
    }

    /// Gives a block back. NULL: no effect.
    ///
    /// Misuse   as egb_fixed_free(): refused, and nothing changes. Its handler may use the pool.
    /// Cost     O(1), and a lock. Overwrites the block's first 8 bytes, or 4 if it has no more.
    void DeAllocate(void* p)
    {
        if (EGB_LIKELY(egb_lock_take_alone_(&lock_.lock))) {
            const bool can = egb_fixed_can_push_(&blocks_, p);
            if (EGB_LIKELY(can)) {
                egb_fixed_push_(&blocks_, p);
            }
            egb_lock_give_alone_(&lock_.lock);
            if (EGB_LIKELY(can)) {
                return;
            }
        }
        give_with_lock(p);
    }

  private:
    // For several threads, and for everything that the hot paths cannot do.
    [[gnu::noinline]] void* take_with_lock()
    {
        const egb_handler_lock_held_ held(lock_);
        return start_ == nullptr ? nullptr : egb_fixed_alloc(&blocks_);
    }

    [[gnu::noinline]] void give_with_lock(void* p)
    {
        const egb_handler_lock_held_ held(lock_);
        egb_fixed_free(&blocks_, p);
    }

    // The size of a block, rounded up; 0: too large.
    static size_t stride_of(size_t bytes) noexcept
    {
        const size_t             word = EGB_WORD_BYTES;
        const unsigned long long wide = bytes;  // the bound does not fit in a size_t of 32 bits
        if (wide > EGB_FIXED_BYTES_MAX / 2) {
            return 0;
        }
        return bytes < word ? word : (bytes + word - 1) / word * word;
    }

    // The largest power of two that divides the stride, up to a page.
    static size_t align_of(size_t stride) noexcept
    {
        const size_t natural = stride & (0 - stride);
        return natural > 4096 ? 4096 : natural;
    }

    // As operator new. 0 bytes: the size was too large, so there is no use in the new-handler.
    static void* alloc(size_t bytes, size_t align)
    {
        for (;;) {
            void* const region = bytes == 0 ? nullptr : egb_aligned_alloc(align, bytes);
            if (region != nullptr) {
                return region;
            }
            const std::new_handler handler = std::get_new_handler();
            if (handler == nullptr || bytes == 0) {
                eggbox::throw_bad_alloc_();
            }
            handler();
        }
    }

    void take(Pool_c& other) noexcept
    {
        blocks_       = other.blocks_;
        start_        = other.start_;
        stride_       = other.stride_;
        other.blocks_ = egb_fixed();
        other.start_  = nullptr;
        other.stride_ = 0;
    }

    egb_fixed         blocks_{};          // may be moved: its region is elsewhere
    uchar*            start_  = nullptr;  // NULL: not created
    size_t            stride_ = 0;
    egb_handler_lock_ lock_{};
};

EGB_QUIET_END_

#endif  // EGGBOX_COMPAT_KENWRIGHT_H
