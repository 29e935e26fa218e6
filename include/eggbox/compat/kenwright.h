// SPDX-License-Identifier: MIT
// Layer faces, compatibility: Pool_c, the class printed in B. Kenwright, "Fast Efficient Fixed-Size
// Memory Pool", 2012, on a fixed pool. C++ only.
//
// As there, a fresh pool hands its blocks out in the order of addresses, and then the one that was
// freed last; nothing stands in or between the blocks; making a pool costs the same whatever the
// number of blocks. Other than there, sizes are of 64 bits, a pool may be made again, what is no
// block in use is refused by DeAllocate(), and any thread may use the pool.
#ifndef EGGBOX_COMPAT_KENWRIGHT_H
#define EGGBOX_COMPAT_KENWRIGHT_H

#include "../fixed.h"
#include "../heap.hpp"
#include "../lock.h"

#include <cstddef>
#include <cstdint>
#include <new>
#include <stddef.h>

/// Threads  Any, for every call but CreatePool(), DestroyPool(), assignment and the end. The
///          original was for one at a time.
class Pool_c
{
    typedef unsigned int  uint;
    typedef unsigned char uchar;

  public:
    Pool_c() noexcept {}

    /// Not created, as the original that is not created either. A copy of the original's blocks
    /// was freed twice.
    Pool_c(const Pool_c&) noexcept {}

    /// As a copy: the pool is not created any more, whatever the other is.
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

    /// Makes all blocks, and frees those of an earlier call. A block is a multiple of 4 bytes, and
    /// as aligned as that is, up to a page. Throws std::bad_alloc, after the new-handler.
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
        // Region and stride are as it wants them.
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

    /// Where block `i` is: of a pool that is not created, NULL.
    uchar* AddrFromIndex(uint i) const
    {
        return start_ == nullptr ? nullptr : start_ + i * stride_;
    }

    /// Which block an address is in: of a pool that is not created, 0.
    uint IndexFromAddr(const uchar* p) const
    {
        return stride_ == 0 ? 0 : static_cast<uint>(static_cast<size_t>(p - start_) / stride_);
    }

    /// Takes a block.
    ///
    /// Returns  the block freed last, else the next fresh one; NULL: all are in use, or the pool is
    ///          not created.
    /// Cost     O(1), and a lock
    void* Allocate()
    {
        const egb_lock_held_ held(lock_);
        return start_ == nullptr ? nullptr : egb_fixed_alloc(&blocks_);
    }

    /// Gives a block back. NULL: no effect.
    ///
    /// Misuse   as egb_fixed_free(): refused, and nothing changes.
    /// Cost     O(1), and a lock. Overwrites the block's first 8 bytes, or 4 if it has no more.
    void DeAllocate(void* p)
    {
        const egb_lock_held_ held(lock_);
        egb_fixed_free(&blocks_, p);
    }

  private:
    // 0: there is no such block.
    static size_t stride_of(size_t bytes) noexcept
    {
        const size_t             word = EGB_WORD_BYTES;
        const unsigned long long wide = bytes;  // the bound is more than a size_t of 32 bits has
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

    // As operator new. No pool has a region of 0 bytes.
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

    egb_fixed blocks_{};          // refers to its region by address: may be moved
    uchar*    start_  = nullptr;  // NULL: not created
    size_t    stride_ = 0;
    egb_lock_ lock_{};
};

#endif  // EGGBOX_COMPAT_KENWRIGHT_H
