// SPDX-License-Identifier: MIT
// Threads that wait for blocks, against a model: random operations, and every history of a small
// pool. The threads are coroutines, hence each order of events is one that the test chose.
#include "shared_model.hpp"

#include <cstdlib>
#include <random>

namespace
{

unsigned first_seed()
{
    const char* const set = std::getenv("EGGBOX_SEED");
    return set != nullptr ? unsigned(std::strtoul(set, nullptr, 0)) : 1;
}

void random_step(shared_model& model, std::mt19937& random)
{
    const std::size_t index = random() % model.scene.threads.size();
    switch (random() % 12) {
        case 0:
        case 1:
        case 2: model.ask(index, false); break;
        case 3: model.ask(index, true); break;
        case 4:
        case 5: model.take(false); break;
        case 6: model.take(true); break;
        case 7:
        case 8:
        case 9: model.give(model.held.empty() ? 0 : random() % model.held.size()); break;
        case 10: model.time_out(index); break;
        default: random() % 4 == 0 ? model.cancel() : model.give(0); break;
    }
}

void run_random(way made, unsigned seed, int steps)
{
    SCOPED_TRACE(name_of(made) + ", seed " + std::to_string(seed));
    std::mt19937      random(seed);
    const std::size_t count   = 1 + seed % 5;
    const std::size_t reserve = seed % count;
    shared_model      model(made, count, reserve, 6);
    for (waiting_thread& thread : model.scene.threads) {
        thread.priority = uint32_t(random() % 3);
    }
    for (int i = 0; i < steps && !testing::Test::HasFailure(); i++) {
        random_step(model, random);
        model.compare();
    }
}

// Two blocks, three threads, and at each of five steps one of these operations.
enum { small_count = 2, small_threads = 3, operations = 13, depth = 5 };

bool apply(shared_model& model, int operation)
{
    switch (operation) {
        case 0:
        case 1:
        case 2: return model.ask(std::size_t(operation), false);
        case 3:
        case 4: return model.ask(std::size_t(operation - 3), true);
        case 5:
        case 6:
        case 7: return model.time_out(std::size_t(operation - 5));
        case 8: return model.take(false);
        case 9: return model.take(true);
        case 10: return model.give(0);
        case 11: return model.give(1);
        default: return model.cancel();
    }
}

// Replays a history from the start. Returns the first step that cannot be done, or `depth`.
int run(std::size_t reserve, const int* history)
{
    shared_model model(way::marked, small_count, reserve, small_threads);
    model.scene.threads[0].priority = 1;
    model.scene.threads[1].priority = 1;
    model.scene.threads[2].priority = 2;
    for (int step = 0; step < depth; step++) {
        if (!apply(model, history[step])) {
            return step;
        }
        model.compare();
    }
    return depth;
}

// The next history that differs at step `last` or before. False after the last one.
bool next(int* history, int last)
{
    std::fill(history + last + 1, history + depth, 0);
    for (int i = last + 1; i-- > 0;) {
        if (++history[i] < operations) {
            return true;
        }
        history[i] = 0;
    }
    return false;
}

}  // namespace

TEST(fixed_shared_model, random_operations_agree_with_the_model)
{
    for (const way made : all_ways) {
        for (unsigned seed = first_seed(); seed < first_seed() + 12; seed++) {
            run_random(made, seed, 1000);
            ASSERT_FALSE(HasFailure());
        }
    }
}

TEST(fixed_shared_model, every_short_history_of_a_small_pool_agrees_with_the_model)
{
    for (const std::size_t reserve : {0u, 1u}) {
        int  history[depth] = {};
        long whole          = 0;
        int  reached        = 0;
        do {
            reached = run(reserve, history);
            whole += reached == depth;
            ASSERT_FALSE(HasFailure()) << "reserve " << reserve << ", history " << whole;
        } while (next(history, std::min(reached, depth - 1)));
        std::printf("reserve %zu: %ld histories\n", reserve, whole);
        EXPECT_GT(whole, 30000);
    }
}
