// SPDX-License-Identifier: MIT
// A moment of the models in magazine_model.hpp and remote_model.hpp: the contents of memory, the
// stores on their way there, and the values in the threads' hands.
#ifndef EGGBOX_TESTS_STRESS_MAGAZINE_STATE_HPP
#define EGGBOX_TESTS_STRESS_MAGAZINE_STATE_HPP

#include <array>
#include <cstdint>
#include <cstdlib>

namespace magazine_model
{

// Each block is a chunk of its own. An entry that is NOTHING is no block's, or was invalidated.
enum : int { BLOCKS = 3, ENTRIES = 4, CLOSED = ENTRIES + 1, NOTHING = -1 };

// A place in memory: `top`, `bottom` or an entry.
enum : int { TOP = 0, BOTTOM = 1, ENTRY = 2, PLACES = ENTRY + ENTRIES };

struct store {
    std::int8_t place;
    std::int8_t value;
};

struct thread_state {
    std::int8_t  step        = 0;
    std::int8_t  script      = 0;  // calls or rounds that were begun, or are over
    std::int8_t  top         = 0;  // values it has read or computed
    std::int8_t  at          = 0;
    std::int8_t  block       = NOTHING;  // that it is about to free, or to invalidate
    bool         is_last_try = false;
    std::uint8_t hand        = 0;  // blocks in it, a bit for each
};

// Blocks in a hand, or anywhere else where no order matters: a bit for each.
inline bool has(int blocks, int block)
{
    return block != NOTHING && (blocks >> block & 1) != 0;
}

inline void take_from(std::uint8_t* blocks, int block)
{
    *blocks = static_cast<std::uint8_t>(*blocks & ~(1 << block));
}

// False: it is no block (the entry was not written), or there already.
inline bool add_to(std::uint8_t* blocks, int block)
{
    if (block == NOTHING || has(*blocks, block)) {
        return false;
    }
    *blocks = static_cast<std::uint8_t>(*blocks | 1 << block);
    return true;
}

// Fields of four bits, one behind the other.
class packed
{
  public:
    void add(int number)
    {
        if (number < LEAST || number - LEAST > 15 || at_ == 16 * words.size()) {
            std::abort();
        }
        words[at_ / 16] |= static_cast<std::uint64_t>(number - LEAST) << at_ % 16 * 4;
        at_++;
    }

    std::array<std::uint64_t, 3> words{};

  private:
    enum : int { LEAST = -3 };

    std::size_t at_ = 0;
};

using state_key = std::array<std::uint64_t, 3>;

struct key_hash {
    std::size_t operator()(const state_key& key) const
    {
        std::uint64_t hash = 0;
        for (const std::uint64_t word : key) {
            hash = (hash ^ word) * UINT64_C(0x9E3779B97F4A7C15);
            hash ^= hash >> 29;
        }
        return static_cast<std::size_t>(hash);
    }
};

// Memory, and the stores of the owner on their way there.
template <std::size_t Places, std::size_t Stores>
struct buffered_memory {
    std::array<std::int8_t, Places> memory{};
    std::array<store, Stores>       buffer{};  // oldest first
    std::int8_t                     buffered = 0;

    // `up` is added to each value, to fit.
    void add_to_key(packed* all, int up) const
    {
        for (const std::int8_t one : memory) {
            all->add(one + up);
        }
        for (std::int8_t i = 0; i < static_cast<std::int8_t>(buffer.size()); i++) {
            const store one = i < buffered ? buffer[static_cast<std::size_t>(i)] : store{0, 0};
            all->add(one.place);
            all->add(one.value + up);
        }
    }

    std::int8_t& at(int place)
    {
        return memory[static_cast<std::size_t>(place)];
    }

    // The oldest store reaches memory.
    void drain_one()
    {
        at(buffer[0].place) = buffer[0].value;
        for (std::size_t i = 1; i < buffer.size(); i++) {
            buffer[i - 1] = buffer[i];
        }
        buffered--;
    }

    void drain()
    {
        while (buffered > 0) {
            drain_one();
        }
    }

    // False if the buffer is full: the owner waits until a store has left it.
    bool owner_writes(int place, int value)
    {
        if (buffered == static_cast<std::int8_t>(buffer.size())) {
            return false;
        }
        buffer[static_cast<std::size_t>(buffered++)] = {
            static_cast<std::int8_t>(place), static_cast<std::int8_t>(value)
        };
        return true;
    }

    std::int8_t owner_reads(int place) const
    {
        for (int i = buffered - 1; i >= 0; i--) {
            if (buffer[static_cast<std::size_t>(i)].place == place) {
                return buffer[static_cast<std::size_t>(i)].value;
            }
        }
        return memory[static_cast<std::size_t>(place)];
    }
};

struct state : buffered_memory<PLACES, 4> {
    std::int8_t                 lowest = 0;  // kept by the lock
    std::int8_t                 lock   = NOTHING;
    std::uint8_t                gone   = 0;  // blocks that were unmapped, a bit for each
    std::array<thread_state, 3> threads;     // the owner, and the takers

    state_key key() const
    {
        packed all;
        add_to_key(&all, 0);
        for (const int number : {+buffered, +lowest, +lock, +gone}) {
            all.add(number);
        }
        for (const thread_state& one : threads) {
            for (const int number : {+one.step, +one.top, +one.at, +one.block, +one.hand}) {
                all.add(number);
            }
        }
        for (const thread_state& one : threads) {
            all.add(one.script);
        }
        all.add(threads[0].is_last_try);
        return all.words;
    }

    // The takers have them in the chunks.
    std::uint8_t in_chunks() const
    {
        return static_cast<std::uint8_t>(threads[1].hand | threads[2].hand);
    }

    void take_from_chunks(int block)
    {
        take_from(&threads[1].hand, block);
        take_from(&threads[2].hand, block);
    }
};

}  // namespace magazine_model

#endif  // EGGBOX_TESTS_STRESS_MAGAZINE_STATE_HPP
