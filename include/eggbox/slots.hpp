// SPDX-License-Identifier: MIT
// Layer faces: slots, objects that are named by typed handles, for C++17. What a handle is and how
// misuse is answered: slots.h. Types and lifetimes only; compiles without exceptions and without
// run-time type information.
//
//     eggbox::slots<enemy, 1000>    enemies;   // in place, no heap
//     eggbox::growing_slots<bullet> bullets;   // grows, in chunks from the heap of eggbox
//
// In a program with Qt, whose macro `slots` takes the name, the first is eggbox::fixed_slots.
//
//     eggbox::handle<enemy> h = enemies.insert(position);   // none if there is no room
//     if (enemy* e = enemies.get(h)) { e->hit(); }          // nullptr once it is erased
//     enemies.erase(h);
//
// Addresses of objects never change, in both. The walk over live objects reads one bit for each
// slot, and the objects themselves in order of address.
#ifndef EGGBOX_SLOTS_HPP
#define EGGBOX_SLOTS_HPP

#include "cpp17.hpp"

#if EGB_HAS_CPP17_

  #include "slots_store.hpp"

  #include <cstddef>
  #include <cstdint>
  #include <functional>
  #include <iterator>
  #include <new>
  #include <type_traits>
  #include <utility>

EGB_QUIET_BEGIN_

namespace eggbox
{

/// Names an object of type T in slots, as an egb_slot: 8 bytes, a value. Made without arguments: no
/// object. Handles of different types do not convert, nor compare.
template <class T>
struct handle {
    std::uint32_t index      = 0;
    std::uint32_t generation = 0;

    /// True unless it is none. The object may be gone: ask the slots.
    [[nodiscard]] explicit constexpr operator bool() const noexcept
    {
        return generation != 0;
    }

    friend constexpr bool operator==(handle one, handle other) noexcept
    {
        return one.index == other.index && one.generation == other.generation;
    }

    friend constexpr bool operator!=(handle one, handle other) noexcept
    {
        return !(one == other);
    }
};

/// Slots for objects of type T: slots<T, N> and growing_slots<T> below, which differ in where their
/// memory is from. Cannot be copied or moved. Its end destroys every object, those in limbo
/// included.
///
/// Threads  one at a time, as for egb_slots.
/// Cost     as in slots.h, and T's constructors and destructors.
template <class T, class Store>
class basic_slots
{
  public:
    using value_type  = T;
    using handle_type = handle<T>;

    static_assert(
        std::is_object_v<T> && !std::is_const_v<T>, "objects in slots are made and destroyed"
    );
    static_assert(std::is_nothrow_destructible_v<T>, "destructors do not throw");

    template <bool IsConst>
    class walk;

    using iterator       = walk<false>;
    using const_iterator = walk<true>;

    constexpr basic_slots() noexcept           = default;
    basic_slots(const basic_slots&)            = delete;
    basic_slots& operator=(const basic_slots&) = delete;

    /// egb_slots_start_at(): `lives` is at most EGB_SLOT_LIVES_MAX - 1, else it counts as that.
    explicit basic_slots(std::uint32_t lives) noexcept
        : store_(lives < EGB_SLOT_LIVES_MAX ? lives : EGB_SLOT_LIVES_MAX - 1)
    {
    }

    ~basic_slots()
    {
        if constexpr (!std::is_trivially_destructible_v<T>) {
            clear();
            store_.each_in_limbo([](void* element) { static_cast<T*>(element)->~T(); });
        }
    }

    /// Constructs a T in a free slot. The constructor may use the slots; the object is not found
    /// before it is made.
    ///
    /// Returns  the handle; none if every slot is live, in limbo or given up (growing: if the heap
    ///          refused). If T's constructor throws, the slot is free again and the exception
    ///          passes on.
    template <class... Args>
    handle_type insert(Args&&... args) noexcept(std::is_nothrow_constructible_v<T, Args...>)
    {
        static_assert(std::is_constructible_v<T, Args...>, "T has no constructor for these");
        undo guard{store_, store_.take()};
        if (EGB_UNLIKELY(guard.at.index == EGB_SLOTS_NO_INDEX_)) {
            return {};
        }
        const slot_place at = guard.at;
        ::new (egb_slots_at_(at.table, at.index)) T(std::forward<Args>(args)...);
        guard.at.index   = EGB_SLOTS_NO_INDEX_;
        const egb_slot c = egb_slots_publish_(at.table, at.index);
        return {at.base + c.index, c.generation};
    }

    /// The object; nullptr if the handle is stale or none.
    [[nodiscard]] EGB_ALWAYS_INLINE T* get(handle_type of) noexcept
    {
        return find(of);
    }

    [[nodiscard]] EGB_ALWAYS_INLINE const T* get(handle_type of) const noexcept
    {
        return find(of);
    }

    [[nodiscard]] EGB_ALWAYS_INLINE bool contains(handle_type of) const noexcept
    {
        return find(of) != nullptr;
    }

    /// Destroys the object. None: no effect. The handle is stale before the destructor runs.
    ///
    /// Returns  true if the object was there.
    /// Misuse   as egb_slots_erase().
    EGB_ALWAYS_INLINE bool erase(handle_type of) noexcept
    {
        const slot_place at = store_.place_of(of.index);
        const egb_slot   c  = {at.index, of.generation};
        if (EGB_UNLIKELY(!egb_slots_has_(at.table, c))) {
            egb_slots_refuse_(at.table, c, EGB_CALLER());
            return false;
        }
        egb_slots_hide_(at.table, at.index);
        static_cast<T*>(egb_slots_at_(at.table, at.index))->~T();
        store_.give(at);
        return true;
    }

    /// Takes the object out of the slots, but destroys it only in the advance() that passes
    /// `frame`. Answers and misuse as egb_slots_retire(), for each chunk of growing slots.
    [[nodiscard]] egb_status retire(handle_type of, std::uint64_t frame) noexcept
    {
        const slot_place at = store_.place_of(of.index);
        return egb_slots_retire(at.table, egb_slot{at.index, of.generation}, frame);
    }

    /// Says that every frame before `frame` is over: destroys the objects retired for these, and
    /// frees their slots. A destructor may use the slots.
    ///
    /// Returns  how many objects it destroyed.
    /// Cost     O(objects destroyed); growing: times the number of chunks, 26 at most.
    std::size_t advance(std::uint64_t frame) noexcept
    {
        std::size_t freed = 0;
        for (slot_place at; (at = store_.due(frame)).index != EGB_SLOTS_NO_INDEX_; freed++) {
            static_cast<T*>(egb_slots_at_(at.table, at.index))->~T();
            store_.give(at);
        }
        return freed;
    }

    /// Erases every live object. Limbo stays as it is.
    void clear() noexcept
    {
        for (iterator at = begin(); at != end(); ++at) {
            erase(at.handle());
        }
    }

    /// Live objects, in order of index. Any object may be erased or retired meanwhile, the current
    /// one included. An object that is inserted meanwhile is met if its index is behind the current
    /// one, else not.
    [[nodiscard]] iterator begin() noexcept
    {
        return iterator(this, store_.live_from(0));
    }

    [[nodiscard]] iterator end() noexcept
    {
        return iterator(this, EGB_SLOTS_NO_INDEX_);
    }

    [[nodiscard]] const_iterator begin() const noexcept
    {
        return const_iterator(this, store_.live_from(0));
    }

    [[nodiscard]] const_iterator end() const noexcept
    {
        return const_iterator(this, EGB_SLOTS_NO_INDEX_);
    }

    /// Calls `visit(handle, object)` with each live object: the same walk, and the fastest one.
    template <class Visit>
    void each(Visit&& visit)
    {
        store_.each_live([&visit](const egb_slots& in, std::uint32_t base, std::uint32_t i) {
            visit(handle_type{base + i, in.generations[i]}, *object_in(in, i));
        });
    }

    /// The handle of a live object, from its address; none for any other address.
    /// Cost     growing: O(chunks).
    [[nodiscard]] handle_type handle_of(const T* object) const noexcept
    {
        const egb_slot found = store_.find(object);
        return {found.index, found.generation};
    }

    [[nodiscard]] std::size_t in_use() const noexcept
    {
        return store_.sum(egb_slots_in_use);
    }

    [[nodiscard]] bool empty() const noexcept
    {
        return in_use() == 0;
    }

    [[nodiscard]] std::size_t in_limbo() const noexcept
    {
        return store_.sum(egb_slots_in_limbo);
    }

    [[nodiscard]] std::size_t given_up() const noexcept
    {
        return store_.sum(egb_slots_given_up);
    }

    /// Slots that can be used, live or not; growing: without asking the heap for more.
    [[nodiscard]] std::size_t capacity() const noexcept
    {
        return store_.capacity();
    }

    [[nodiscard]] bool whole() const noexcept
    {
        return store_.whole();
    }

  private:
    using slot_place = typename Store::place;

    // Frees the slot of an object whose constructor did not return.
    struct undo {
        Store&     store;
        slot_place at;

        ~undo()
        {
            if (at.index != EGB_SLOTS_NO_INDEX_) {
                store.give(at);
            }
        }
    };

    static EGB_ALWAYS_INLINE T* object_in(const egb_slots& in, std::uint32_t index) noexcept
    {
        return std::launder(reinterpret_cast<T*>(in.elements + index * sizeof(T)));
    }

    EGB_ALWAYS_INLINE T* find(handle_type of) const noexcept
    {
        std::uint32_t   index = of.index;
        const egb_slots in    = store_.look(index);
        return EGB_LIKELY(egb_slots_has_(&in, egb_slot{index, of.generation}))
                   ? object_in(in, index)
                   : nullptr;
    }

    Store store_;
};

/// An iterator over the live objects of slots.
template <class T, class Store>
template <bool IsConst>
class basic_slots<T, Store>::walk
{
  public:
    using iterator_category = std::forward_iterator_tag;
    using value_type        = T;
    using difference_type   = std::ptrdiff_t;
    using pointer           = std::conditional_t<IsConst, const T*, T*>;
    using reference         = std::conditional_t<IsConst, const T&, T&>;

    constexpr walk() noexcept = default;

    /// An iterator becomes a const_iterator.
    template <bool IsOtherConst, class = std::enable_if_t<IsConst && !IsOtherConst>>
    constexpr walk(walk<IsOtherConst> other) noexcept : slots_(other.slots_), index_(other.index_)
    {
    }

    EGB_ALWAYS_INLINE reference operator*() const noexcept
    {
        return *operator->();
    }

    EGB_ALWAYS_INLINE pointer operator->() const noexcept
    {
        std::uint32_t   index = index_;
        const egb_slots in    = slots_->store_.look(index);
        return object_in(in, index);
    }

    /// The handle of the current object; if it was erased, that of the next object of the slot.
    [[nodiscard]] handle_type handle() const noexcept
    {
        std::uint32_t   index = index_;
        const egb_slots in    = slots_->store_.look(index);
        return {index_, in.generations[index] | 1U};
    }

    EGB_ALWAYS_INLINE walk& operator++() noexcept
    {
        index_ = slots_->store_.live_from(index_ + 1);
        return *this;
    }

    walk operator++(int) noexcept
    {
        const walk before = *this;
        ++*this;
        return before;
    }

    friend bool operator==(walk one, walk other) noexcept
    {
        return one.index_ == other.index_;
    }

    friend bool operator!=(walk one, walk other) noexcept
    {
        return one.index_ != other.index_;
    }

  private:
    friend basic_slots;
    template <bool>
    friend class basic_slots<T, Store>::walk;

    using slots_pointer = std::conditional_t<IsConst, const basic_slots*, basic_slots*>;

    walk(slots_pointer of, std::uint32_t index) noexcept : slots_(of), index_(index) {}

    slots_pointer slots_ = nullptr;
    std::uint32_t index_ = EGB_SLOTS_NO_INDEX_;
};

/// Slots for N objects inside it: no heap. All zero until its first use: static slots take no space
/// in the program file and are usable before main. Slots on the stack or in a dynamic object are
/// set to zero when they are made: that costs O(N).
template <class T, std::size_t N>
using fixed_slots = basic_slots<T, fixed_slots_store_<T, N>>;

  // Qt has a macro of this name, unless QT_NO_KEYWORDS is defined: then it cannot be declared.
  #if !defined(slots)
/// The shorter name of fixed_slots<T, N>.
template <class T, std::size_t N>
using slots = fixed_slots<T, N>;
  #endif

/// Slots that grow: chunks of 64, 128, 256 ... objects, from egb_aligned_alloc(). A chunk is never
/// moved, and is given back at the end of the slots only, because its generations tell old handles
/// from new ones. At most 26 chunks: 2^32 - 64 objects.
template <class T>
using growing_slots = basic_slots<T, growing_slots_store_<T>>;

}  // namespace eggbox

/// Handles as keys of unordered containers.
template <class T>
struct std::hash<eggbox::handle<T>> {
    [[nodiscard]] std::size_t operator()(eggbox::handle<T> of) const noexcept
    {
        const std::uint64_t both = std::uint64_t{of.generation} << 32 | of.index;
        return std::hash<std::uint64_t>()(both);
    }
};

EGB_QUIET_END_

#endif  // EGB_HAS_CPP17_

#endif  // EGGBOX_SLOTS_HPP
