// SPDX-License-Identifier: MIT
// Layer faces, compatibility: D. Lafreniere's fixed block Allocator, on pools. C++ only.
//
//     Allocator(100)                heap blocks    without a limit: a pool
//     Allocator(100, 20)            heap pool      20 blocks in a region of its own
//     Allocator(100, 20, memory)    static pool    20 blocks in the caller's memory
//
// As in the original, a pool hands out fresh blocks in the order of addresses, touches no block
// before that, and prefers the block freed last. Unlike in the original, any thread may use any
// allocator, blocks are aligned, Deallocate() refuses everything but a block in use, and a request
// of more than a block's size is served, by the heap of the process.
#ifndef EGGBOX_COMPAT_ALLOCATOR_H
#define EGGBOX_COMPAT_ALLOCATOR_H

#include "../fixed_live.h"
#include "../heap.h"
#include "../lock.h"
#include "../make_once.hpp"
#include "DataTypes.h"
#include "new_forms.h"
#include "stl_nodes.h"

#include <climits>
#include <cstddef>
#include <cstdint>
#include <new>
#include <stddef.h>

EGB_QUIET_BEGIN_

/// Threads  Any thread, for every call but the destructor.
class Allocator
{
  public:
    /// `objects` 0: the number of blocks is not limited. Otherwise there are `objects` blocks, in
    /// `memory` of size * objects bytes, or without `memory` in a region of the allocator's own. If
    /// blocks are smaller than a pointer or no multiple of 4 bytes, or `memory` is not aligned to
    /// 4, not all blocks may fit in `memory`; the rest then comes from the heap.
    ///
    /// Throws std::bad_alloc if there is no memory for a region. `name` must stay valid.
    Allocator(size_t size, UINT objects = 0, CHAR* memory = NULL, const CHAR* name = NULL)
        : m_size(size), m_block(block_of(size)), m_name(name), m_objects(objects)
    {
        if (objects == 0) {
            return;
        }
        if (memory != NULL) {
            const size_t word = EGB_WORD_BYTES;
            cut(memory, size * objects, (m_block + word - 1) / word * word, NULL, 0);
        } else {
            cut_own();
        }
    }

    /// The copy is as the other allocator was when it was made: with no block in use, and memory of
    /// its own. A copy of the original class freed its blocks twice.
    Allocator(const Allocator& other) : Allocator(other.m_size, other.m_objects, NULL, other.m_name)
    {
    }

    Allocator& operator=(const Allocator&) = delete;

    /// Ends all blocks of a pool. Heap blocks in use stay valid.
    ~Allocator()
    {
        const egb_pool pool = eggbox::pool_at_(&m_key);
        if (pool.generation != 0 && !m_is_view) {
            const egb_destroy how = m_objects == 0 ? EGB_DESTROY_REFUSE : EGB_DESTROY_FORCE;
            if (egb_pool_destroy(pool, how) == EGB_BUSY) {
                (void)egb_pool_trim(pool, 0);
            }
        }
        egb_free(m_own);
    }

    /// Takes a block for `size` bytes.
    ///
    /// Returns  a block that was freed, from a pool the last one, or a fresh block. If there is
    ///          none, the new-handler is called. With `objects`, the call then tries once more; it
    ///          returns NULL if that fails, or if there is no handler. Without `objects` it acts as
    ///          operator new: it calls the handler until there is a block, and throws
    ///          std::bad_alloc if there is no handler.
    /// Cost     O(1); with `objects`, a lock
    void* Allocate(size_t size)
    {
        void* const block = take(size);
        return EGB_LIKELY(block != NULL) ? block : exhausted(size, true);
    }

    /// Gives a block back. NULL: no effect.
    ///
    /// Misuse   as egb_pool_free() and egb_fixed_free(): refused, and nothing changes.
    /// Cost     O(1); with `objects`, a lock
    void Deallocate(void* pBlock)
    {
        if (is_in_region(pBlock)) {
            give_to_region(pBlock);
        } else if (EGB_LIKELY(EGB_LOAD_(m_others) == 0 && EGB_LOAD_(m_key) != 0)) {
            egb_pool_free(egb_pool_of_key_(EGB_LOAD_(m_key)), pBlock);
        } else if (pBlock != NULL) {
            give_other(pBlock);
        }
    }

    /// The name as given; NULL if none was.
    const CHAR* GetName() const
    {
        return m_name;
    }

    /// Bytes of a block: the size as given, but at least a pointer's.
    size_t GetBlockSize() const
    {
        return m_block;
    }

    /// The most blocks in use at one time: the number with which to make a static pool. For heap
    /// blocks that several threads use at once it is never too small, and up to a few hundred too
    /// large if thousands come and go. The numbers below are exact. No number wraps; UINT_MAX
    /// stands for more.
    /// Cost     O(blocks, threads)
    UINT GetBlockCount() const
    {
        const egb_handler_lock_held_ held(m_lock);
        const size_t                 touched = egb_pool_touched(eggbox::pool_at_(&m_key));
        const size_t                 peak    = of_pool().peak;
        return number(
            egb_fixed_touched(&m_blocks) + (touched != 0 && touched < peak ? touched : peak)
        );
    }

    UINT GetBlocksInUse() const
    {
        const egb_handler_lock_held_ held(m_lock);
        return number(
            m_taken - m_given + of_pool().in_use + EGB_LOAD_(m_others) - EGB_LOAD_(m_others_given)
        );
    }

    UINT GetAllocations() const
    {
        const egb_handler_lock_held_ held(m_lock);
        return number(m_taken + of_pool().allocations + EGB_LOAD_(m_others));
    }

    UINT GetDeallocations() const
    {
        const egb_handler_lock_held_ held(m_lock);
        return number(m_given + of_pool().frees + EGB_LOAD_(m_others_given));
    }

    // For the macros below: operator new, which never returns NULL, and its nothrow form.
    void* new_(size_t size)
    {
        void* const block = Allocate(size);
        if (EGB_UNLIKELY(block == NULL)) {
            eggbox::throw_bad_alloc_();
        }
        return block;
    }

    void* new_nothrow_(size_t size) noexcept
    {
        void* const block = take(size);
        return block != NULL ? block : exhausted(size, false);
    }

    // Shows a pool of another owner. The pool does not end with this allocator.
    Allocator(egb_pool of, size_t block, const CHAR* name)
        : m_size(block), m_block(block), m_name(name), m_key(egb_pool_key_(of)), m_is_view(true)
    {
    }

    // From 2 KiB on the free list is outside the blocks, 4 bytes for each, so that no block is
    // touched: links 4 KiB apart, for example, would share a few sets of the cache. 0: it is
    // inside.
    static constexpr size_t outside_bytes_(size_t size, size_t objects) noexcept
    {
        return size >= 2048 ? EGB_FIXED_OUTSIDE_BYTES(objects) : 0;
    }

    bool shows_(egb_pool pool) const noexcept
    {
        return EGB_LOAD_(m_key) == egb_pool_key_(pool);
    }

  protected:
    Allocator(
        size_t size, UINT objects, CHAR* memory, size_t bytes, void* outside, size_t outside_bytes
    )
        : m_size(size), m_block(block_of(size)), m_objects(objects)
    {
        if (objects != 0) {
            cut(memory, bytes, stride_of(m_block), outside, outside_bytes);
        }
    }

    static constexpr size_t block_of(size_t size) noexcept
    {
        return size < sizeof(long*) ? sizeof(long*) : size;
    }

    // Enough for any object of this size: as malloc, and more for types that are aligned to more.
    static constexpr size_t align_of(size_t block) noexcept
    {
        return bounded(block & (0 - block), block <= 8 ? 8 : 16, 4096);
    }

    // Bytes between heap blocks. Programs write to the start of a block first. If the starts were a
    // large power of two apart, they would share a few sets of the cache.
    static constexpr size_t colour_of(size_t block) noexcept
    {
        return block >= 1024 && block % 512 == 0 ? 64 : 0;
    }

    static constexpr size_t stride_of(size_t block) noexcept
    {
        return (block + align_of(block) - 1) / align_of(block) * align_of(block);
    }

  private:
    static constexpr size_t bounded(size_t number, size_t least, size_t most) noexcept
    {
        return number > most ? most : number < least ? least : number;
    }

    static UINT number(uint64_t count) noexcept
    {
        return count > UINT_MAX ? UINT_MAX : static_cast<UINT>(count);
    }

    // Makes a pool of the blocks that fit, at most m_objects.
    void cut(CHAR* memory, size_t bytes, size_t stride, void* outside, size_t outside_bytes)
    {
        const size_t past     = reinterpret_cast<uintptr_t>(memory) % EGB_WORD_BYTES;
        const size_t skip     = past == 0 ? 0 : EGB_WORD_BYTES - past;
        const size_t room     = bytes < skip || stride == 0 ? 0 : (bytes - skip) / stride;
        m_bytes               = (room < m_objects ? room : m_objects) * stride;
        CHAR* const      from = memory + skip;
        const egb_status status =
            outside_bytes == 0
                ? egb_fixed_init(&m_blocks, from, m_bytes, stride)
                : egb_fixed_init_outside(&m_blocks, from, m_bytes, stride, outside, outside_bytes);
        if (status != EGB_OK) {
            m_bytes = 0;
        }
    }

    void cut_own()
    {
        const size_t stride = stride_of(m_block);  // 0: more than all addresses
        if (stride == 0 || stride > PTRDIFF_MAX / m_objects) {
            eggbox::throw_bad_alloc_();
        }
        const size_t align   = align_of(m_block);
        const size_t bytes   = stride * m_objects;
        const size_t outside = outside_bytes_(m_block, m_objects);
        const size_t before  = (outside + align - 1) / align * align;
        m_own                = static_cast<CHAR*>(egb_aligned_alloc(align, before + bytes));
        if (m_own == NULL) {
            eggbox::throw_bad_alloc_();
        }
        cut(m_own + before, bytes, stride, m_own, outside);
    }

    EGB_ALWAYS_INLINE void* take(size_t size)
    {
        void* block;
        if (EGB_UNLIKELY(size > m_size)) {
            return take_other(size);
        }
        if (m_bytes != 0 && (block = take_from_region()) != NULL) {
            return block;
        }
        return egb_pool_pop_(EGB_LOAD_(m_key), &block) ? block : take_more();
    }

    // Only the hot path of a fixed pool, and only while no other thread can hold the lock. The rest
    // is in other functions, which keeps this one short.
    void* take_from_region()
    {
        void* block;
        if (EGB_LIKELY(egb_lock_take_alone_(&m_lock.lock))) {
            const bool is_taken = try_take(&block);
            m_taken += is_taken;
            egb_lock_give_alone_(&m_lock.lock);
            if (EGB_LIKELY(is_taken)) {
                return block;
            }
        }
        return take_with_lock();
    }

    // For several threads, and for everything that the hot path cannot do.
    [[gnu::noinline]] void* take_with_lock()
    {
        const egb_handler_lock_held_ held(m_lock);
        void*                        block;
        if (!try_take(&block)) {
            block = egb_fixed_alloc(&m_blocks);
        }
        m_taken += block != NULL;
        return block;
    }

    // The hot path of the pool, with its free list inside or outside the blocks. True: a block was
    // taken. try_give(): true if a block in use started there, and is free now.
    bool try_take(void** block)
    {
        if (is_outside()) {
            return egb_fixed_pop_live_(&m_blocks, block);
        }
        const bool can = egb_fixed_can_pop_(&m_blocks);
        if (EGB_LIKELY(can)) {
            *block = egb_fixed_pop_(&m_blocks);
        }
        return can;
    }

    bool try_give(void* block)
    {
        if (is_outside()) {
            return egb_fixed_push_live_(&m_blocks, egb_fixed_distance_(&m_blocks, block));
        }
        const bool can = egb_fixed_can_push_(&m_blocks, block);
        if (EGB_LIKELY(can)) {
            egb_fixed_push_(&m_blocks, block);
        }
        return can;
    }

    bool is_outside() const noexcept
    {
        return m_blocks.mode == EGB_FIXED_OUTSIDE_;
    }

    void give_to_region(void* block)
    {
        if (EGB_LIKELY(egb_lock_take_alone_(&m_lock.lock))) {
            const bool is_given = try_give(block);
            m_given += is_given;
            egb_lock_give_alone_(&m_lock.lock);
            if (EGB_LIKELY(is_given)) {
                return;
            }
        }
        give_with_lock(block);
    }

    // The hot path refuses blocks that are not in use, and the rare block in use that holds the
    // mark of a free one by chance. The second check costs only these.
    [[gnu::noinline]] void give_with_lock(void* block)
    {
        const egb_handler_lock_held_ held(m_lock);
        if (try_give(block)) {
            m_given++;
        } else {
            m_given += egb_fixed_is_live(&m_blocks, block);
            egb_fixed_free(&m_blocks, block);
        }
    }

    // For a size larger than a block: an object of a derived class, whose delete comes here, too.
    EGB_COLD void* take_other(size_t size)
    {
        void* const block = egb_aligned_alloc(align_of(size), size);
        if (block != NULL) {
            __atomic_fetch_add(&m_others, 1, __ATOMIC_RELAXED);
        }
        return block;
    }

    // For heap blocks, and for blocks that do not fit in the memory of a static pool.
    EGB_COLD void* take_more()
    {
        const size_t capacity = egb_fixed_capacity(&m_blocks);
        if (m_objects != 0 && capacity == m_objects) {
            return NULL;
        }
        egb_pool pool = eggbox::pool_at_(&m_key);
        if (pool.generation == 0) {
            egb_pool_options options = egb_pool_options();
            options.name             = m_name == NULL ? "Allocator" : m_name;
            options.block_bytes      = m_block + colour_of(m_block);
            options.block_align = colour_of(m_block) != 0 ? colour_of(m_block) : align_of(m_block);
            options.max_blocks  = m_objects == 0 ? 0 : m_objects - capacity;
            options.level = EGB_LEVEL_CHECK;  // under a sanitizer, too: programs rely on the order
            pool          = eggbox::make_once_(&m_key, options);
        }
        return pool.generation == 0 ? NULL : egb_pool_alloc(pool);
    }

    // No lock is held.
    EGB_COLD void* exhausted(size_t size, bool may_throw)
    {
        for (;;) {
            const std::new_handler handler = std::get_new_handler();
            if (handler == NULL) {
                if (m_objects == 0 && may_throw) {
                    eggbox::throw_bad_alloc_();
                }
                return NULL;
            }
            handler();
            void* const block = take(size);
            if (block != NULL || m_objects != 0) {
                return block;
            }
        }
    }

    bool is_in_region(const void* block) const noexcept
    {
        const uintptr_t first = reinterpret_cast<uintptr_t>(m_blocks.first);
        return reinterpret_cast<uintptr_t>(block) - first < m_bytes;
    }

    // A block of the pool or of the heap, or a foreign one.
    EGB_COLD void give_other(void* block)
    {
        const egb_pool own  = eggbox::pool_at_(&m_key);
        const egb_pool pool = egb_pool_of(block);
        const bool     is_in =
            pool.generation == 0 ? egb_block_bytes(block) != 0 : egb_pool_is_live(pool, block);
        if (own.generation != 0 && egb_pool_is_live(own, block)) {
            egb_pool_free(own, block);
        } else if (EGB_LOAD_(m_others) != 0) {
            __atomic_fetch_add(&m_others_given, is_in, __ATOMIC_RELAXED);
            egb_free(block);
        } else if (m_bytes != 0) {
            const egb_handler_lock_held_ held(m_lock);
            egb_fixed_free(&m_blocks, block);  // refuses it
        } else {
            egb_pool_free(own, block);  // refuses it
        }
    }

    egb_pool_stats of_pool() const
    {
        egb_pool_stats stats = egb_pool_stats();
        if (EGB_LOAD_(m_key) != 0) {
            (void)egb_pool_get_stats(eggbox::pool_at_(&m_key), &stats);
        }
        return stats;
    }

    const size_t      m_size;
    const size_t      m_block;
    const CHAR* const m_name            = NULL;
    const UINT        m_objects         = 0;
    size_t            m_bytes           = 0;            // the region's size
    egb_fixed         m_blocks          = egb_fixed();  // under m_lock, as m_taken and m_given
    CHAR*             m_own             = NULL;         // the region, if it is not the caller's
    uint64_t          m_taken           = 0;
    uint64_t          m_given           = 0;
    uint64_t          m_others          = 0;  // atomic: from the heap
    uint64_t          m_others_given    = 0;  // atomic
    alignas(8) uint64_t m_key           = 0;  // atomic: the pool; 0: none is needed yet
    const bool                m_is_view = false;
    mutable egb_handler_lock_ m_lock    = egb_handler_lock_();
};

namespace eggbox
{

// Words that lie beside the class that inherits them.
template <size_t Words>
struct words_beside_ {
    void* start() noexcept
    {
        return words;
    }

    static constexpr size_t bytes = Words * sizeof(UINT32);

    UINT32 words[Words];
};

template <>
struct words_beside_<0> {
    static void* start() noexcept
    {
        return NULL;
    }

    static constexpr size_t bytes = 0;
};

}  // namespace eggbox

/// An allocator of `Objects` blocks, each for a T, that contains their memory. A static object
/// takes no room in the program file.
template <class T, UINT Objects>
class AllocatorPool
    : eggbox::words_beside_<Allocator::outside_bytes_(sizeof(T), Objects) / sizeof(UINT32)>,
      public Allocator
{
  public:
    AllocatorPool()
        : Allocator(
              sizeof(T), Objects, m_memory, sizeof m_memory, this->start(), AllocatorPool::bytes
          )
    {
    }
    AllocatorPool(const AllocatorPool&) : AllocatorPool() {}

  private:
    static constexpr size_t block  = Allocator::block_of(sizeof(T));
    static constexpr size_t stride = Allocator::stride_of(block);
    static constexpr size_t align  = Allocator::align_of(block);

    alignas(align) CHAR m_memory[stride * (Objects == 0 ? 1 : Objects)];
};

/// In a class: new and delete use an allocator of the class. Members after this macro are private.
/// Arrays use the global operator new.
#define DECLARE_ALLOCATOR                                         \
  public:                                                         \
    static void* operator new(size_t size)                        \
    {                                                             \
        return _allocator.new_(size);                             \
    }                                                             \
    template <class Tag, egb_if_nothrow_<Tag> = 0>                \
    static void* operator new(size_t size, const Tag&) noexcept   \
    {                                                             \
        return _allocator.new_nothrow_(size);                     \
    }                                                             \
    template <class Place>                                        \
    static void* operator new(size_t, Place* place) noexcept      \
    {                                                             \
        return place;                                             \
    }                                                             \
    static void operator delete(void* block) noexcept             \
    {                                                             \
        _allocator.Deallocate(block);                             \
    }                                                             \
    template <class Tag, egb_if_nothrow_<Tag> = 0>                \
    static void operator delete(void* block, const Tag&) noexcept \
    {                                                             \
        _allocator.Deallocate(block);                             \
    }                                                             \
    template <class Place>                                        \
    static void operator delete(void*, Place*) noexcept           \
    {                                                             \
    }                                                             \
                                                                  \
  private:                                                        \
    static Allocator _allocator;

/// In one source file: the allocator of the class, as Allocator(sizeof(type), objects, memory).
#define IMPLEMENT_ALLOCATOR(type, objects, memory)                    \
    Allocator type::_allocator(sizeof(type), objects, memory, #type);

/// Returns an allocator that shows the pool that serves xmalloc(size). NULL: `size` is larger than
/// any class, or no memory. The allocator stays; after xalloc_destroy() has ended the pool, call
/// this function again for the next one.
extern "C" inline Allocator* xallocator_get_allocator(size_t size)
{
    static egb_lock_  lock;
    static Allocator* shown[sizeof(size_t) * CHAR_BIT];  // replaced after their pool has ended
    size_t            bytes = 0;
    const egb_pool    pool  = egb_xclass_pool_(size, &bytes);
    if (pool.generation == 0) {
        return NULL;
    }
    const egb_lock_held_ held(lock);
    for (Allocator*& each : shown) {
        if (each != NULL && each->GetBlockSize() != bytes) {
            continue;
        }
        if (each != NULL && !each->shows_(pool)) {
            delete each;
            each = NULL;
        }
        if (each == NULL) {
            each = new Allocator(pool, bytes, "xallocator");
        }
        return each;
    }
    return NULL;
}

EGB_QUIET_END_

#endif  // EGGBOX_COMPAT_ALLOCATOR_H
