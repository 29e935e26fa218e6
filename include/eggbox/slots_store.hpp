// SPDX-License-Identifier: MIT
// Layer faces: where slots of C++ have their memory, in place or in chunks from the heap. Private:
// programs include slots.hpp.
//
// A store leads from an index to an egb_slots and an index in it. The functions are the same in
// both stores, and `place` is where an object is or could be.
#ifndef EGGBOX_SLOTS_STORE_HPP
#define EGGBOX_SLOTS_STORE_HPP

#include "cpp17.hpp"

#if EGB_HAS_CPP17_

  #include "heap.h"
  #include "slots.h"

  #include <cstddef>
  #include <cstdint>
  #include <new>

EGB_QUIET_BEGIN_

namespace eggbox
{

/// Private: an index in some slots, whose index 0 is `base` to the program.
struct slots_place_ {
    egb_slots*    table;
    std::uint32_t index;  // EGB_SLOTS_NO_INDEX_: no place
    std::uint32_t base;
};

/// Private: the address of the live bits, and of the numbers behind them.
inline EGB_ALWAYS_INLINE egb_live_word_* slots_live_(void* at) noexcept
{
    return static_cast<egb_live_word_*>(at);
}

inline EGB_ALWAYS_INLINE egb_word* slots_words_(void* at) noexcept
{
    return static_cast<egb_word*>(at);
}

/// Private: calls `visit(slots, base, index)` with each live index. The bits of a word are taken
/// from it once, and anew if the visit has changed them. `known` has what never changes in `table`.
template <class Visit>
inline EGB_ALWAYS_INLINE void
slots_each_live_(const egb_slots& table, const egb_slots known, std::uint32_t base, Visit& visit)
{
    for (std::size_t word = 0; word * EGB_LIVE_BITS_ < table.touched; word++) {
        const auto  first = static_cast<std::uint32_t>(word * EGB_LIVE_BITS_);
        std::size_t now   = known.live[word];
        std::size_t bits  = now;
        if (now == ~std::size_t{0}) {  // a full word: count, in place of looking for bits
            std::uint32_t bit = 0;
            while (bit < EGB_LIVE_BITS_ && EGB_LIKELY(known.live[word] == now)) {
                visit(known, base, first + bit++);
            }
            now  = known.live[word];
            bits = bit < EGB_LIVE_BITS_ ? now & ~std::size_t{0} << bit : 0;
        }
        while (bits != 0) {
            const unsigned bit = egb_lowest_bit_(bits);
            bits &= bits - 1;
            visit(known, base, first + bit);
            if (EGB_UNLIKELY(known.live[word] != now)) {
                now = known.live[word];
                EGB_OPAQUE_(now);  // a branch: a conditional move would delay each step
                bits = now & ~std::size_t{1} << bit;
            }
        }
    }
}

/// Private: calls `visit(element)` with each element in limbo.
template <class Visit>
void slots_each_in_limbo_(const egb_slots& in, Visit& visit)
{
    std::uint32_t at = in.limbo_first;
    for (std::uint32_t left = in.limbo; left != 0; left--) {
        visit(egb_slots_at_(&in, at - 1));
        at = in.links[at - 1];
    }
}

/// Private: the store of slots<T, N>.
template <class T, std::size_t N>
class fixed_slots_store_
{
  public:
    using place = slots_place_;

    static_assert(
        N != 0 && N <= EGB_SLOTS_COUNT_MAX && N <= SIZE_MAX / 2 / (sizeof(T) + 32),
        "no slots have this many objects of this type"
    );

    constexpr fixed_slots_store_() noexcept = default;

    explicit fixed_slots_store_(std::uint32_t lives) noexcept
    {
        init();
        slots_.base = lives * 2;
    }

    EGB_ALWAYS_INLINE place take() noexcept
    {
        if (EGB_UNLIKELY(slots_.elements == nullptr)) {
            init();
        }
        return {&slots_, egb_slots_take_(&slots_), 0};
    }

    EGB_ALWAYS_INLINE void give(place at) noexcept
    {
        egb_slots_give_(&slots_, at.index);
    }

    EGB_ALWAYS_INLINE place place_of(std::uint32_t index) noexcept
    {
        return {made(), index, 0};
    }

    /// The slots of an index that becomes one in these, with all that the compiler knows of them.
    EGB_ALWAYS_INLINE egb_slots look(std::uint32_t& /* index */) const noexcept
    {
        egb_slots known   = slots_;
        known.elements    = memory_;
        known.live        = slots_live_(memory_ + live_at);
        known.generations = slots_words_(memory_ + words_at);
        known.stride      = sizeof(T);
        return known;
    }

    EGB_ALWAYS_INLINE std::uint32_t live_from(std::uint32_t index) const noexcept
    {
        const egb_slots known = look(index);
        return egb_slots_live_from_(&known, index);
    }

    template <class Visit>
    EGB_ALWAYS_INLINE void each_live(Visit visit)
    {
        std::uint32_t first = 0;
        slots_each_live_(slots_, look(first), 0, visit);
    }

    template <class Visit>
    void each_in_limbo(Visit visit)
    {
        slots_each_in_limbo_(slots_, visit);
    }

    place due(std::uint64_t frame) noexcept
    {
        return {&slots_, egb_slots_due_(&slots_, frame), 0};
    }

    egb_slot find(const void* object) const noexcept
    {
        return egb_slots_handle(&slots_, object);
    }

    std::size_t sum(std::size_t (*number)(const egb_slots*)) const noexcept
    {
        return number(&slots_);
    }

    std::size_t capacity() const noexcept
    {
        return N - slots_.given_up;
    }

    bool whole() const noexcept
    {
        return slots_.elements == nullptr || egb_slots_whole(&slots_);
    }

  private:
    static constexpr std::size_t live_at = EGB_SLOTS_ROUND_(sizeof(T) * N);
    static constexpr std::size_t words_at =
        live_at + EGB_SLOTS_LIVE_WORDS_(N) * sizeof(std::size_t);

    EGB_COLD void init() noexcept
    {
        const egb_status status = egb_slots_init(&slots_, memory_, sizeof memory_, sizeof(T), N);
        (void)status;  // the static assertion above has made sure
    }

    EGB_ALWAYS_INLINE egb_slots* made() noexcept
    {
        if (EGB_UNLIKELY(slots_.elements == nullptr)) {
            init();
        }
        return &slots_;
    }

    // They start as zeros: any other value would put the storage of static slots into the program
    // file.
    egb_slots slots_{};
    alignas(
        alignof(T) > alignof(std::size_t) ? alignof(T) : alignof(std::size_t)
    ) mutable unsigned char memory_[EGB_SLOTS_BYTES(sizeof(T), N)]{};
};

/// Private: the store of growing_slots<T>. Chunk k has 64 << k slots; `open_` has a bit for each
/// chunk that may have a free slot.
template <class T>
class growing_slots_store_
{
  public:
    using place = slots_place_;

    constexpr growing_slots_store_() noexcept = default;
    explicit growing_slots_store_(std::uint32_t lives) noexcept : lives_(lives) {}
    growing_slots_store_(const growing_slots_store_&)            = delete;
    growing_slots_store_& operator=(const growing_slots_store_&) = delete;

    ~growing_slots_store_()
    {
        for (unsigned k = 0; k < made_; k++) {
            egb_free(chunks_[k]);
        }
    }

    EGB_ALWAYS_INLINE place take() noexcept
    {
        while (open_ != 0 || grow()) {
            const unsigned      k     = egb_lowest_bit_(open_);
            const std::uint32_t index = egb_slots_take_(chunks_[k]);
            if (EGB_LIKELY(index != EGB_SLOTS_NO_INDEX_)) {
                return {chunks_[k], index, base_of(k)};
            }
            open_ &= open_ - 1;
        }
        return {nullptr, EGB_SLOTS_NO_INDEX_, 0};
    }

    EGB_ALWAYS_INLINE void give(place at) noexcept
    {
        egb_slots_give_(at.table, at.index);
        open_ |= std::size_t{1} << chunk_of(at.base);
    }

    /// An index of no chunk: empty slots, which refuse every handle.
    EGB_ALWAYS_INLINE place place_of(std::uint32_t index) noexcept
    {
        const unsigned k = chunk_of(index);
        if (EGB_UNLIKELY(k >= made_)) {
            return {nothing(), index, 0};
        }
        return {chunks_[k], index - base_of(k), base_of(k)};
    }

    EGB_ALWAYS_INLINE egb_slots look(std::uint32_t& index) const noexcept
    {
        const unsigned k = chunk_of(index);
        if (EGB_UNLIKELY(k >= made_)) {
            return {};
        }
        index -= base_of(k);
        return *chunks_[k];
    }

    std::uint32_t live_from(std::uint32_t index) const noexcept
    {
        for (unsigned k = chunk_of(index); k < made_; k++) {
            const std::uint32_t base  = base_of(k);
            const std::uint32_t from  = index > base ? index - base : 0;
            const std::uint32_t found = egb_slots_live_from_(chunks_[k], from);
            if (EGB_LIKELY(found != EGB_SLOTS_NO_INDEX_)) {
                return base + found;
            }
        }
        return EGB_SLOTS_NO_INDEX_;
    }

    template <class Visit>
    void each_live(Visit visit)
    {
        for (unsigned k = 0; k < made_; k++) {
            slots_each_live_(*chunks_[k], *chunks_[k], base_of(k), visit);
        }
    }

    template <class Visit>
    void each_in_limbo(Visit visit)
    {
        for (unsigned k = 0; k < made_; k++) {
            slots_each_in_limbo_(*chunks_[k], visit);
        }
    }

    place due(std::uint64_t frame) noexcept
    {
        for (unsigned k = 0; k < made_; k++) {
            const std::uint32_t index = egb_slots_due_(chunks_[k], frame);
            if (index != EGB_SLOTS_NO_INDEX_) {
                return {chunks_[k], index, base_of(k)};
            }
        }
        return {nullptr, EGB_SLOTS_NO_INDEX_, 0};
    }

    egb_slot find(const void* object) const noexcept
    {
        for (unsigned k = 0; k < made_; k++) {
            const egb_slot found = egb_slots_handle(chunks_[k], object);
            if (found.generation != 0) {
                return {base_of(k) + found.index, found.generation};
            }
        }
        return EGB_SLOT_NONE;
    }

    std::size_t sum(std::size_t (*number)(const egb_slots*)) const noexcept
    {
        std::size_t all = 0;
        for (unsigned k = 0; k < made_; k++) {
            all += number(chunks_[k]);
        }
        return all;
    }

    std::size_t capacity() const noexcept
    {
        return sum(egb_slots_capacity);
    }

    bool whole() const noexcept
    {
        bool whole = true;
        for (unsigned k = 0; k < made_; k++) {
            whole = whole && egb_slots_whole(chunks_[k]);
        }
        return whole;
    }

  private:
    static constexpr std::uint32_t first_slots = 64;
    static constexpr unsigned      chunks_max  = 26;

    static constexpr std::size_t align      = alignof(T) > alignof(egb_slots) ? alignof(T)
                                                                              : alignof(egb_slots);
    static constexpr std::size_t head_bytes = (sizeof(egb_slots) + align - 1) / align * align;

    static EGB_ALWAYS_INLINE constexpr std::uint32_t base_of(unsigned k) noexcept
    {
        return (first_slots << k) - first_slots;
    }

    // Chunk k has the indices from 64 (2^k - 1) on.
    static EGB_ALWAYS_INLINE unsigned chunk_of(std::uint32_t index) noexcept
    {
        const std::uint32_t shifted = index / first_slots + 1;
  #if EGB_HAS_GNU_C_
        return 31U - static_cast<unsigned>(__builtin_clz(shifted));
  #else
        unsigned k = 0;
        while (shifted >> k != 1) {
            k++;
        }
        return k;
  #endif
    }

    // Slots without a live element, at an address that is not NULL: "these never gave out such a
    // handle" is then the answer to any handle but none.
    egb_slots* nothing() noexcept
    {
        nothing_.elements = reinterpret_cast<unsigned char*>(&nothing_);
        return &nothing_;
    }

    EGB_COLD bool grow() noexcept
    {
        if (made_ == chunks_max) {
            return false;
        }
        const std::size_t count = std::size_t{first_slots} << made_;
        if (count > (SIZE_MAX / 2 - head_bytes) / (sizeof(T) + 32)) {
            return false;
        }
        const std::size_t bytes  = EGB_SLOTS_BYTES(sizeof(T), count);
        void* const       memory = egb_aligned_alloc(align, head_bytes + bytes);
        if (memory == nullptr) {
            return false;
        }
        egb_slots* const chunk = ::new (memory) egb_slots{};
        const egb_status status =
            egb_slots_init(chunk, static_cast<char*>(memory) + head_bytes, bytes, sizeof(T), count);
        (void)status;  // the sizes were looked at above
        chunk->base    = lives_ * 2;
        chunks_[made_] = chunk;
        open_ |= std::size_t{1} << made_++;
        return true;
    }

    egb_slots*    chunks_[chunks_max]{};
    std::size_t   open_  = 0;
    unsigned      made_  = 0;
    std::uint32_t lives_ = 0;
    egb_slots     nothing_{};
};

}  // namespace eggbox

EGB_QUIET_END_

#endif  // EGB_HAS_CPP17_

#endif  // EGGBOX_SLOTS_STORE_HPP
