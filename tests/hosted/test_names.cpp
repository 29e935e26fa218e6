// SPDX-License-Identifier: MIT
// Names in misuse events and in holders are copies: they stay right when the pool is destroyed, and
// another one is made in its place, while they are read.
#include "eggbox/guard.h"
#include "eggbox/pool.h"

#include <string>

#include <gtest/gtest.h>

namespace
{

egb_pool pool_named(const char* name)
{
    egb_pool_options options = {};
    options.name             = name;
    options.block_bytes      = 40;
    options.level            = EGB_LEVEL_TRACK;
    egb_pool pool            = {};
    EXPECT_EQ(egb_pool_create(&pool, &options), EGB_OK);
    return pool;
}

struct scene {
    egb_pool    pool;
    std::string before;
    std::string after;
};

// Another pool gets the slot, and so the control block.
void replace_the_pool(scene* one, const char* name)
{
    one->before           = name;
    const egb_pool former = one->pool;
    EXPECT_EQ(egb_pool_destroy(former, EGB_DESTROY_FORCE), EGB_OK);
    one->pool = pool_named("another");
    EXPECT_EQ(one->pool.slot, former.slot);
    one->after = name;
}

}  // namespace

TEST(names, of_a_holder_outlive_the_pool)
{
    scene                        one   = {pool_named("first"), "", ""};
    [[maybe_unused]] void* const block = egb_pool_alloc(one.pool);
    testing::internal::CaptureStderr();
    EXPECT_EQ(
        egb_holders_each(
            one.pool,
            [](const egb_holder* holder, void* user) {
                replace_the_pool(static_cast<scene*>(user), holder->pool_name);
            },
            &one
        ),
        EGB_OK
    );
    (void)testing::internal::GetCapturedStderr();
    EXPECT_EQ(one.before, "first");
    EXPECT_EQ(one.after, "first");
    EXPECT_EQ(egb_pool_destroy(one.pool, EGB_DESTROY_FORCE), EGB_OK);
}

TEST(names, of_an_event_outlive_the_pool)
{
    scene       one   = {pool_named("first"), "", ""};
    void* const block = egb_pool_alloc(one.pool);
    egb_pool_free(one.pool, block);
    egb_misuse_set_handler(
        [](const egb_misuse_event* event, void* user) {
            egb_misuse_set_handler(nullptr, nullptr);
            replace_the_pool(static_cast<scene*>(user), event->pool_name);
        },
        &one
    );
    egb_pool_free(one.pool, block);
    egb_misuse_set_handler(nullptr, nullptr);
    EXPECT_EQ(one.before, "first");
    EXPECT_EQ(one.after, "first");
    EXPECT_EQ(egb_pool_destroy(one.pool, EGB_DESTROY_FORCE), EGB_OK);
}
