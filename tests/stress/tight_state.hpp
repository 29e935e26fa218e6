// SPDX-License-Identifier: MIT
// A moment of the model in tight_model.hpp.
#ifndef EGGBOX_TESTS_STRESS_TIGHT_STATE_HPP
#define EGGBOX_TESTS_STRESS_TIGHT_STATE_HPP

#include "magazine_state.hpp"

namespace tight_model
{

using magazine_model::packed;
using magazine_model::state_key;
using magazine_model::store;

// Place for one entry is behind the room of one or two. In front of all is one of no block, which
// `top` is led aside to.
enum : int {
    BLOCKS  = 3,
    ENTRIES = 3,
    CLOSED  = ENTRIES + 1,
    NOTHING = -1,
    ASIDE   = -3,
    NO_ROOM = -6
};
enum : int { TOP, BOTTOM, FULL, BESIDE, ENTRY, PLACES = ENTRY + ENTRIES };

inline int entry_at(int top)
{
    return top == ASIDE ? +BESIDE : ENTRY + top;
}

struct looker {
    std::int8_t  step  = 0;
    std::int8_t  round = 0;
    std::int8_t  top   = 0;
    std::uint8_t hand  = 0;
};

struct state {
    std::array<std::int8_t, PLACES> memory{};
    std::array<store, 3>            buffer{};  // the owner's, oldest first
    std::int8_t                     buffered  = 0;
    std::int8_t                     lowest    = 0;  // kept by the lock, as all that follow
    std::int8_t                     lock      = NOTHING;
    std::uint8_t                    chunks    = 0;  // a bit for each block
    bool                            is_tight  = false;
    std::int8_t                     calls     = 0;      // since it is tight
    bool                            is_unsure = false;  // and counted as that
    bool                  may_stray = false;  // the owner was in a call when `top` was led aside
    std::int8_t           step = 0, script = 0, top = 0, block = NOTHING;  // the owner
    bool                  is_last_try = false;
    std::uint8_t          hand        = 0;
    std::array<looker, 2> lookers;

    state_key key() const
    {
        packed all;
        enum : int { UP = 3 };  // to fit
        for (const std::int8_t one : memory) {
            all.add(one + UP);
        }
        for (std::int8_t i = 0; i < static_cast<std::int8_t>(buffer.size()); i++) {
            const store one = i < buffered ? buffer[static_cast<std::size_t>(i)] : store{0, 0};
            all.add(one.place);
            all.add(one.value + UP);
        }
        for (const int number :
             {+buffered,
              +lowest,
              +lock,
              +chunks,
              +is_tight,
              +calls,
              +is_unsure,
              +may_stray,
              step - 2,
              +script,
              top + UP,
              +block,
              +is_last_try,
              +hand}) {
            all.add(number);
        }
        for (const looker& one : lookers) {
            for (const int number : {+one.step, +one.round, one.top + UP, +one.hand}) {
                all.add(number);
            }
        }
        return all.words;
    }

    std::int8_t& at(int place)
    {
        return memory[static_cast<std::size_t>(place)];
    }

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

    bool writes(int place, int value)
    {
        if (buffered == static_cast<std::int8_t>(buffer.size())) {
            return false;
        }
        buffer[static_cast<std::size_t>(buffered++)] = {
            static_cast<std::int8_t>(place), static_cast<std::int8_t>(value)
        };
        return true;
    }

    std::int8_t reads(int place) const
    {
        for (int i = buffered - 1; i >= 0; i--) {
            if (buffer[static_cast<std::size_t>(i)].place == place) {
                return buffer[static_cast<std::size_t>(i)].value;
            }
        }
        return memory[static_cast<std::size_t>(place)];
    }
};

}  // namespace tight_model

#endif  // EGGBOX_TESTS_STRESS_TIGHT_STATE_HPP
