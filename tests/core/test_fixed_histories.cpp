// SPDX-License-Identifier: MIT
// Not some histories of a small pool but every one: three blocks, and at each of seven steps an
// alloc, a free of any of the three (right, double, or never allocated), a clear, or a resize to
// two blocks and back. The model is compared after every step.
#include "model.hpp"

namespace
{

enum { blocks = 3, operations = 6, depth = 7, histories_in_all = 279936 };  // operations ^ depth

void apply(model& checked, int operation, int step)
{
    switch (operation) {
        case 0:
            checked.alloc(step % 2 == 0 ? EGB_FIXED_MARK_ : 1);
            break;  // data that looks like ours
        case 4: checked.clear(); break;
        case 5: checked.resize(egb_fixed_capacity(&checked.all.pool) == blocks ? 2 : blocks); break;
        default: checked.free_at(std::size_t(operation - 1) * checked.all.block_bytes); break;
    }
    checked.compare();
}

// Replays `history` from the start, so that no state leaks from one history into another.
void run(way made, const int* history)
{
    model checked(made, 8, blocks);
    for (int i = 0; i < depth; i++) {
        apply(checked, history[i], i);
    }
    checked.expect_all_filled();
}

// The next history in counting order. False after the last.
bool next(int* history)
{
    for (int i = depth; i-- > 0;) {
        if (++history[i] < operations) {
            return true;
        }
        history[i] = 0;
    }
    return false;
}

class histories : public testing::TestWithParam<way>
{
};

}  // namespace

INSTANTIATE_TEST_SUITE_P(fixed, histories, testing::ValuesIn(all_ways), name_of_test);

TEST_P(histories, every_short_history_of_a_small_pool_agrees_with_the_model)
{
    int  history[depth] = {};
    long run_count      = 0;
    do {
        run(GetParam(), history);
        run_count++;
        ASSERT_FALSE(HasFailure()) << "history " << run_count;
    } while (next(history));
    EXPECT_EQ(run_count, histories_in_all);
}
