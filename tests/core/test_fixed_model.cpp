// SPDX-License-Identifier: MIT
// Random operations against a model, everywhere the library runs. Every seed is printed with its
// failure; EGGBOX_SEED sets another first one.
#include "model.hpp"

#include <cstdlib>
#include <random>

namespace
{

unsigned first_seed()
{
    const char* const set = std::getenv("EGGBOX_SEED");
    return set != nullptr ? unsigned(std::strtoul(set, nullptr, 0)) : 1;
}

void run(way made, unsigned seed, std::size_t block_bytes, std::size_t count, int steps)
{
    SCOPED_TRACE(name_of(made) + ", seed " + std::to_string(seed));
    std::mt19937 random(seed);
    model        checked(made, block_bytes, count);
    for (int i = 0; i < steps && !testing::Test::HasFatalFailure(); i++) {
        const auto what = uint32_t(random());
        checked.step(what, uint32_t(random()));
    }
    checked.expect_all_filled();
}

}  // namespace

TEST(fixed_model, random_operations_agree_with_the_model)
{
    for (const way made : all_ways) {
        for (unsigned seed = first_seed(); seed < first_seed() + 60; seed++) {
            const std::size_t block_bytes = 8 + 4 * (seed % 13);
            run(made, seed, block_bytes, 1 + seed * 7 % 40, 3000);
            ASSERT_FALSE(HasFatalFailure());
        }
    }
}
