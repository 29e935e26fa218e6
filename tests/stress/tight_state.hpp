// SPDX-License-Identifier: MIT
// A moment of the model in tight_model.hpp.
#ifndef EGGBOX_TESTS_STRESS_TIGHT_STATE_HPP
#define EGGBOX_TESTS_STRESS_TIGHT_STATE_HPP

#include "magazine_state.hpp"

namespace tight_model
{

using magazine_model::packed;
using magazine_model::state_key;

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

struct state : magazine_model::buffered_memory<PLACES, 3> {
    std::int8_t           lowest    = 0;  // kept by the lock, as all that follow
    std::int8_t           lock      = NOTHING;
    std::uint8_t          chunks    = 0;  // a bit for each block
    bool                  is_tight  = false;
    std::int8_t           calls     = 0;      // since it is tight
    bool                  is_unsure = false;  // and counted as that
    bool                  may_stray = false;  // the owner was in a call when `top` was led aside
    std::int8_t           step = 0, script = 0, top = 0, block = NOTHING;  // the owner
    bool                  is_last_try = false;
    std::uint8_t          hand        = 0;
    std::array<looker, 2> lookers;

    state_key key() const
    {
        packed all;
        enum : int { UP = 3 };  // to fit
        add_to_key(&all, UP);
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
};

}  // namespace tight_model

#endif  // EGGBOX_TESTS_STRESS_TIGHT_STATE_HPP
