// SPDX-License-Identifier: MIT
// Layer faces: pools as memory resources, for containers of std::pmr.
#ifndef EGGBOX_MEMORY_RESOURCE_HPP
#define EGGBOX_MEMORY_RESOURCE_HPP

#include "cpp17.hpp"

#if EGB_HAS_CPP17_

  #include "heap.hpp"

  #include <cstddef>
  #include <memory_resource>
  #include <mutex>
  #include <new>

EGB_QUIET_BEGIN_

namespace eggbox
{

/// A heap of your own as a memory resource: pools by size class under one pool. Takes the place of
/// std::pmr::synchronized_pool_resource, and of the unsynchronized one.
///
///     eggbox::memory_resource pools;
///     std::pmr::map<std::pmr::string, int> words(&pools);
///
/// Its end, and release(), free every block of it at once: the program may forget containers
/// without destroying them. Larger blocks than heap::block_bytes_max come from `upstream`, if there
/// is one, and go back to it then; otherwise they are pools of their own.
///
/// Threads  Any thread, any call, at any time, except release() and the end.
class memory_resource : public std::pmr::memory_resource
{
  public:
    memory_resource() noexcept : memory_resource(egb_pool_options{}) {}

    explicit memory_resource(std::pmr::memory_resource* upstream) noexcept
        : memory_resource(egb_pool_options{}, upstream)
    {
    }

    /// Options as for eggbox::heap.
    explicit memory_resource(
        const egb_pool_options& options, std::pmr::memory_resource* upstream = nullptr
    ) noexcept
        : heap_(options), upstream_(upstream)
    {
    }

    memory_resource(const memory_resource&)            = delete;
    memory_resource& operator=(const memory_resource&) = delete;

    ~memory_resource() override
    {
        give_back_upstream();
    }

    /// Frees every block, and starts anew. No other thread may use the resource meanwhile.
    void release()
    {
        give_back_upstream();
        heap_.release();
    }

    [[nodiscard]] std::pmr::memory_resource* upstream_resource() const noexcept
    {
        return upstream_;
    }

    /// The pools: for status(), stats() and trim().
    [[nodiscard]] heap& pools() noexcept
    {
        return heap_;
    }

  protected:
    /// Throws std::bad_alloc when the budget is used up, or the system refused.
    void* do_allocate(std::size_t bytes, std::size_t align) override
    {
        if (is_for_upstream(bytes)) {
            return take_upstream(bytes, align);
        }
        void* const block = heap_.alloc(bytes, align);
        if (EGB_UNLIKELY(block == nullptr)) {
            throw_bad_alloc_();
        }
        return block;
    }

    void do_deallocate(void* block, std::size_t bytes, std::size_t align) override
    {
        if (is_for_upstream(bytes)) {
            give_upstream(block, bytes);
        } else {
            heap_.free(block, bytes, align);
        }
    }

    [[nodiscard]] bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override
    {
        return this == &other;
    }

  private:
    // Stands behind the bytes of each block of upstream. A list holds them all.
    struct record {
        record*     next;
        record*     previous;
        void*       block;
        std::size_t bytes;  // with the record
        std::size_t align;
    };

    [[nodiscard]] bool is_for_upstream(std::size_t bytes) const noexcept
    {
        return EGB_UNLIKELY(bytes > heap::block_bytes_max) && upstream_ != nullptr;
    }

    static std::size_t place_of_record(std::size_t bytes) noexcept
    {
        return (bytes + alignof(record) - 1) / alignof(record) * alignof(record);
    }

    void* take_upstream(std::size_t bytes, std::size_t align)
    {
        if (bytes > PTRDIFF_MAX - sizeof(record) - alignof(record)) {
            throw_bad_alloc_();
        }
        const std::size_t place = place_of_record(bytes);
        const std::size_t whole = place + sizeof(record);
        const std::size_t least = align < alignof(record) ? alignof(record) : align;
        char* const       block = static_cast<char*>(upstream_->allocate(whole, least));

        const std::lock_guard<std::mutex> hold(lock_);
        record* const made = ::new (block + place) record{first_, nullptr, block, whole, least};
        if (first_ != nullptr) {
            first_->previous = made;
        }
        first_ = made;
        return block;
    }

    void give_upstream(void* block, std::size_t bytes)
    {
        const record one = invalidate(static_cast<char*>(block) + place_of_record(bytes));
        upstream_->deallocate(one.block, one.bytes, one.align);
    }

    // Neighbours in the list write to the record until it leaves the list.
    record invalidate(void* place)
    {
        const std::lock_guard<std::mutex> hold(lock_);
        const record                      one                   = *static_cast<record*>(place);
        (one.previous == nullptr ? first_ : one.previous->next) = one.next;
        if (one.next != nullptr) {
            one.next->previous = one.previous;
        }
        return one;
    }

    void give_back_upstream()
    {
        while (first_ != nullptr) {
            const record one = *first_;
            first_           = one.next;
            upstream_->deallocate(one.block, one.bytes, one.align);
        }
    }

    heap                       heap_;
    std::pmr::memory_resource* upstream_;
    std::mutex                 lock_;  // keeps the list
    record*                    first_ = nullptr;
};

/// The heap of the process as a memory resource.
class heap_resource_type_ final : public std::pmr::memory_resource
{
  protected:
    void* do_allocate(std::size_t bytes, std::size_t align) override
    {
        void* const block = align <= 16 ? egb_malloc(bytes) : egb_aligned_alloc(align, bytes);
        if (EGB_UNLIKELY(block == nullptr)) {
            throw_bad_alloc_();
        }
        return block;
    }

    void do_deallocate(void* block, std::size_t, std::size_t) override
    {
        egb_free(block);
    }

    [[nodiscard]] bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override
    {
        return this == &other;
    }
};

/// The heap of the process as a memory resource, for std::pmr::set_default_resource() and
/// containers. It is a single object, and outlives every static object.
[[nodiscard]] inline std::pmr::memory_resource* heap_resource() noexcept
{
    alignas(heap_resource_type_) static unsigned char place[sizeof(heap_resource_type_)];
    static std::pmr::memory_resource* const           resource = ::new (place) heap_resource_type_;
    return resource;
}

}  // namespace eggbox

EGB_QUIET_END_

#endif  // EGB_HAS_CPP17_

#endif  // EGGBOX_MEMORY_RESOURCE_HPP
