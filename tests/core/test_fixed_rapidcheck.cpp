// SPDX-License-Identifier: MIT
// The same model, with operations that rapidcheck chooses and, when one fails, shrinks to few.
#include "model.hpp"

#include <rapidcheck.h>

#include <utility>

namespace
{

void any_history_agrees(way made)
{
    const bool holds = rc::check(
        "any history of a pool of " + name_of(made) + " blocks agrees with the model",
        [made](const std::vector<std::pair<uint32_t, uint32_t>>& history) {
            const int  least       = made == way::outside ? 1 : 2;
            const auto block_bytes = std::size_t(*rc::gen::inRange(least, 12) * 4);
            const auto count       = std::size_t(*rc::gen::inRange(1, 20));
            model      checked(made, block_bytes, count);
            for (const auto& [what, which] : history) {
                checked.step(what, which);
                RC_ASSERT(!testing::Test::HasFailure());
            }
        }
    );
    EXPECT_TRUE(holds);
}

}  // namespace

TEST(fixed_rapidcheck, marked)
{
    any_history_agrees(way::marked);
}

TEST(fixed_rapidcheck, tiny)
{
    any_history_agrees(way::tiny);
}

TEST(fixed_rapidcheck, live_bits)
{
    any_history_agrees(way::live_bits);
}

TEST(fixed_rapidcheck, outside)
{
    any_history_agrees(way::outside);
}

TEST(fixed_rapidcheck, unchecked)
{
    any_history_agrees(way::unchecked);
}
