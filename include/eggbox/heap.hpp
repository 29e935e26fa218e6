// SPDX-License-Identifier: MIT
// Layer faces: a heap of your own, for C++. allocator.hpp and memory_resource.hpp stand on it.
#ifndef EGGBOX_HEAP_HPP
#define EGGBOX_HEAP_HPP

#include "heap.h"
#include "make_once.hpp"

#include <cstddef>
#include <cstdint>

EGB_QUIET_BEGIN_

namespace eggbox
{

/// The size classes of a heap of your own.
struct heap_classes_ {
    static constexpr std::size_t step_bytes   = 8;
    static constexpr std::size_t fine_max     = 128;
    static constexpr std::size_t fine_classes = fine_max / step_bytes;
    static constexpr std::size_t doublings    = 11;
    static constexpr std::size_t count        = fine_classes + doublings * 8;
    static constexpr std::size_t none         = count;  // the class of larger sizes
    static constexpr std::size_t bytes_max    = fine_max << doublings;
    static constexpr std::size_t align_max    = 4096;

    // Sizes over 128 bytes by their highest bit and the next three.
    EGB_ALWAYS_INLINE static constexpr std::size_t class_of(std::size_t bytes) noexcept
    {
        if (bytes <= fine_max) {
            return bytes == 0 ? 0 : (bytes - 1) / step_bytes;
        }
        const int high     = 63 - __builtin_clzll(static_cast<unsigned long long>(bytes - 1));
        const int doubling = high - 7;
        return fine_classes + static_cast<std::size_t>(doubling) * 8 +
               ((bytes - 1) >> (doubling + 4)) - 8;
    }

    EGB_ALWAYS_INLINE static constexpr std::size_t bytes_of(std::size_t index) noexcept
    {
        if (index < fine_classes) {
            return (index + 1) * step_bytes;
        }
        const std::size_t doubling = (index - fine_classes) / 8;
        const std::size_t step     = (index - fine_classes) % 8 + 1;
        return (8 + step) << (doubling + 4);
    }

    // The first class that is large enough and a multiple of the alignment: that of the size
    // rounded up to it. Classes near that size are all multiples of the alignment, or it is a class
    // itself. No loop: compilers would keep one, also for a size that is a constant.
    EGB_ALWAYS_INLINE static constexpr std::size_t
    class_for(std::size_t bytes, std::size_t align) noexcept
    {
        if (EGB_UNLIKELY(bytes > bytes_max || align > align_max)) {
            return none;
        }
        const std::size_t least = bytes < align ? align : bytes;
        const std::size_t rest  = align > step_bytes ? align - 1 : 0;
        return class_of((least + rest) & ~rest);
    }

    // The largest power of two that divides the size, up to a page.
    static constexpr std::size_t align_of(std::size_t index) noexcept
    {
        const std::size_t bytes   = bytes_of(index);
        const std::size_t natural = bytes & ~(bytes - 1);
        return natural < align_max ? natural : align_max;
    }
};

/// A heap of your own: blocks of any size from a pool for each size class, and all these pools
/// below one pool. That pool gives the heap a budget and one sum of all numbers, and its end frees
/// every block of the heap.
///
///     egb_pool_options options{};
///     options.name         = "level 3";
///     options.budget_bytes = 64 << 20;
///     eggbox::heap level(options);
///     std::list<int, eggbox::allocator<int>> scores(level);
///
/// Classes are 8 bytes apart up to 128, then 8 for each doubling. The pool of a class is made when
/// the class is first used, and holds a chunk of 64 KiB or more from then on: a budget must leave
/// room for one chunk per size. Each block larger than block_bytes_max has a pool of its own.
///
/// Cannot be copied or moved: allocators point to it.
///
/// Threads  Any thread, any call, at any time, except release() and the end.
class heap
{
  public:
    /// A larger block, or one aligned to more than align_max, is a pool of its own. A process has
    /// EGB_POOLS_MAX pools at most.
    static constexpr std::size_t block_bytes_max = heap_classes_::bytes_max;
    static constexpr std::size_t align_max       = heap_classes_::align_max;

    /// Never throws: see status().
    heap() noexcept : heap(egb_pool_options{}) {}

    /// Uses the options name, parent, budget_bytes, flags, level, on_exhausted and user. The others
    /// are about blocks of one size.
    explicit heap(const egb_pool_options& options) noexcept : options_(all_sizes(options))
    {
        keep_name();
        open();
    }

    heap(const heap&)            = delete;
    heap& operator=(const heap&) = delete;

    /// Frees every block.
    ~heap()
    {
        close();
    }

    /// The answer of egb_pool_create() for the pool above all classes.
    [[nodiscard]] egb_status status() const noexcept
    {
        return status_;
    }

    /// Takes a block of at least `bytes` bytes, aligned to `align`, a power of two.
    ///
    /// Returns  the block; nullptr if the budget is used up, or the system refused.
    /// Cost     egb_pool_alloc(), and just as fast if the size is a constant. Over block_bytes_max
    ///          egb_pool_create().
    [[nodiscard]] EGB_ALWAYS_INLINE void*
    alloc(std::size_t bytes, std::size_t align = natural_align) noexcept
    {
        const std::size_t index = sizes::class_for(bytes, align);
        void*             block = nullptr;
        if (EGB_LIKELY(index != sizes::none && egb_pool_pop_(key_of(index), &block))) {
            return block;
        }
        return index != sizes::none ? alloc_cold(index) : alloc_large(bytes, align);
    }

    /// Gives a block back, with the size and the alignment of the request, or any larger size up to
    /// the room of the block. nullptr: no effect.
    ///
    /// Misuse   as egb_pool_free(); with a size of another class EGB_MISUSE_WRONG_POOL.
    EGB_ALWAYS_INLINE void
    free(void* block, std::size_t bytes, std::size_t align = natural_align) noexcept
    {
        const std::size_t index = sizes::class_for(bytes, align);
        if (EGB_LIKELY(index != sizes::none)) {
            const std::uint64_t key = key_of(index);
            if (EGB_UNLIKELY(!egb_pool_undo_(egb_magazine_of_key_(key), key, block))) {
                free_other(key, block);
            }
        } else {
            free_large(block);
        }
    }

    // The place of the key of the pool that serves such requests. Not for large requests.
    EGB_ALWAYS_INLINE const std::uint64_t*
                            place_for_(std::size_t bytes, std::size_t align) const noexcept
    {
        return &keys_[sizes::class_for(bytes, align)];
    }

    /// The pool above all classes, for calls of pool.h that are about a subtree.
    [[nodiscard]] egb_pool pool() const noexcept
    {
        return top_;
    }

    /// True if `address` is in a block of this heap, at any place.
    [[nodiscard]] bool owns(const void* address) const noexcept
    {
        const egb_pool pool = egb_pool_of(address);
        return pool.generation != 0 && egb_pool_is_ancestor(top_, pool);
    }

    /// The sums of all classes. All zero when there is no heap.
    [[nodiscard]] egb_pool_stats stats() const noexcept
    {
        egb_pool_stats stats{};
        if (status_ == EGB_OK) {
            (void)egb_pool_get_subtree_stats(top_, &stats);
        }
        return stats;
    }

    /// egb_pool_trim() of each class, which keeps nothing that is not in use.
    std::size_t trim() noexcept
    {
        std::size_t bytes = 0;
        for (const auto& key : keys_) {
            const egb_pool pool = pool_at_(&key);
            bytes += pool.generation != 0 ? egb_pool_trim(pool, 0) : 0;
        }
        return bytes;
    }

    /// Frees every block, and starts anew. No other thread may use the heap meanwhile.
    void release() noexcept
    {
        close();
        open();
    }

  private:
    static constexpr std::size_t natural_align = 16;
    static constexpr std::size_t large_min     = block_bytes_max + 1;  // in no class

    using sizes = heap_classes_;

    static_assert(
        sizes::bytes_of(sizes::count - 1) == block_bytes_max &&
            sizes::class_of(block_bytes_max) == sizes::count - 1,
        "the last class is of the largest blocks"
    );

    // A key does not lead to memory of the pool by itself: a thread uses its own magazine for that.
    EGB_ALWAYS_INLINE std::uint64_t key_of(std::size_t index) const noexcept
    {
        return EGB_LOAD_(keys_[index]);
    }

    static egb_pool_options all_sizes(const egb_pool_options& wanted) noexcept
    {
        egb_pool_options options{};
        options.name         = wanted.name;
        options.block_bytes  = sizes::step_bytes;
        options.parent       = wanted.parent;
        options.budget_bytes = wanted.budget_bytes;
        options.flags        = wanted.flags;
        options.level        = wanted.level;
        options.on_exhausted = wanted.on_exhausted;
        options.user         = wanted.user;
        return options;
    }

    // The pools of the classes are made later, when the caller's text may be gone.
    void keep_name() noexcept
    {
        if (options_.name == nullptr) {
            return;
        }
        for (std::size_t i = 0; i + 1 < sizeof name_ && options_.name[i] != '\0'; i++) {
            name_[i] = options_.name[i];
        }
        options_.name = name_;
    }

    void open() noexcept
    {
        status_ = egb_pool_create(&top_, &options_);
    }

    void close() noexcept
    {
        if (status_ == EGB_OK) {
            (void)egb_pool_destroy(top_, EGB_DESTROY_FORCE);  // stale if its parent ended before
        }
        for (auto& key : keys_) {
            EGB_STORE_(key, 0);
        }
    }

    // Options for the pool of a class: with the name, flags and callbacks of the pool above.
    egb_pool_options below(std::size_t bytes, std::size_t align) const noexcept
    {
        egb_pool_options options = options_;
        options.block_bytes      = bytes;
        options.block_align      = align;
        options.parent           = top_;
        options.budget_bytes     = 0;
        return options;
    }

    egb_pool use_class(std::size_t index) noexcept
    {
        const egb_pool pool = pool_at_(&keys_[index]);
        return pool.generation != 0
                   ? pool
                   : make_once_(
                         &keys_[index], below(sizes::bytes_of(index), sizes::align_of(index))
                     );
    }

    EGB_COLD void* alloc_cold(std::size_t index) noexcept
    {
        const egb_pool pool = status_ == EGB_OK ? use_class(index) : egb_pool{0, 0};
        return pool.generation == 0 ? nullptr : egb_pool_alloc(pool);
    }

    // For more than a page the address is aligned inside the block: any address in it leads to the
    // pool.
    EGB_COLD void* alloc_large(std::size_t bytes, std::size_t align) noexcept
    {
        const std::size_t extra = align > align_max ? align : 0;
        if (status_ != EGB_OK || bytes > PTRDIFF_MAX || extra > PTRDIFF_MAX - bytes) {
            return nullptr;
        }
        const std::size_t whole   = bytes + extra > block_bytes_max ? bytes + extra : large_min;
        egb_pool_options  options = below(whole, extra != 0 ? align_max : align);
        options.max_blocks        = 1;
        egb_pool    pool{0, 0};
        void* const block =
            egb_pool_create(&pool, &options) == EGB_OK ? egb_pool_alloc(pool) : nullptr;
        if (block == nullptr) {
            (void)egb_pool_destroy(pool, EGB_DESTROY_FORCE);
            return nullptr;
        }
        const std::size_t past =
            reinterpret_cast<std::uintptr_t>(block) & (extra == 0 ? 0 : extra - 1);
        return static_cast<char*>(block) + (past == 0 ? 0 : extra - past);
    }

    // A class without a pool has given out no block: the pool above refuses it.
    void free_other(std::uint64_t key, void* block) noexcept
    {
        egb_pool_free_other_(key != 0 ? egb_pool_of_key_(key) : top_, block);
    }

    EGB_COLD void free_large(void* block) noexcept
    {
        const egb_pool pool = egb_pool_of(block);
        if (block != nullptr && owns(block) && egb_block_bytes(block) > block_bytes_max) {
            (void)egb_pool_destroy(pool, EGB_DESTROY_FORCE);
        } else {
            egb_pool_free(top_, block);  // refuses it
        }
    }

    egb_pool_options options_;
    char             name_[sizeof(egb_pool_stats::name)]{};  // the pools' name, if they have one
    egb_pool         top_{0, 0};
    egb_status       status_ = EGB_INVALID;
    alignas(8) std::uint64_t keys_[sizes::count]{};  // atomic; 0: not used yet
};

}  // namespace eggbox

EGB_QUIET_END_

#endif  // EGGBOX_HEAP_HPP
