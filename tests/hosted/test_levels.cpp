// SPDX-License-Identifier: MIT
// Which level a pool gets: from its options, from EGGBOX_CHECK, and what of the two counts.
#include "eggbox/guard.h"
#include "environment.hpp"
#include "pools.hpp"

#include <string>

extern "C" {
#include "levels.hpp"
#include "settings/settings.h"
}

namespace
{

// The level of a pool, as far as it can be seen: by what a block takes.
std::size_t stride_of(const char* name, const char* check)
{
    egb_pool_options options = {};
    options.name             = name;
    options.block_bytes      = 64;
    options.level            = level_named(check);
    egb_pool       pool      = {};
    egb_pool_stats stats     = {};
    EXPECT_EQ(egb_pool_create(&pool, &options), EGB_OK);
    EXPECT_EQ(egb_pool_get_stats(pool, &stats), EGB_OK);
    EXPECT_EQ(egb_pool_destroy(pool, EGB_DESTROY_REFUSE), EGB_OK);
    return stats.stride_bytes;
}

const std::size_t PLAIN = 64, GUARD = 96, TRACK = 144;

struct levels : testing::Test {
    ~levels() override
    {
        set(nullptr);
    }

    static void set(const char* entries)
    {
        set_variable("EGGBOX_CHECK", entries);
    }
};

std::string level_in(const char* entries, const char* name)
{
    egb_level level;
    return egb_level_in_(entries, name, &level) ? egb_level_text(level) : "none";
}

}  // namespace

TEST_F(levels, the_first_entry_that_fits_the_name_counts)
{
    const char* const all = "frames:track,net*:guard,*:off";
    EXPECT_EQ(level_in(all, "frames"), "track");
    EXPECT_EQ(level_in(all, "framesx"), "off");
    EXPECT_EQ(level_in(all, "frame"), "off");
    EXPECT_EQ(level_in(all, "net"), "guard");
    EXPECT_EQ(level_in(all, "network"), "guard");
    EXPECT_EQ(level_in(all, "ne"), "off");
    EXPECT_EQ(level_in(all, ""), "off");
    EXPECT_EQ(level_in("a:check", "b"), "none");
    EXPECT_EQ(level_in("guard", "anything"), "guard");
    EXPECT_EQ(level_in("a:off,guard", "anything"), "guard");
    EXPECT_EQ(level_in("", "a"), "none");
    EXPECT_EQ(level_in(",,a:track,", "a"), "track");
    EXPECT_EQ(level_in("a:passthrough", "a"), "passthrough");
    EXPECT_EQ(level_in(":guard", ""), "guard");
    EXPECT_EQ(level_in(":guard", "a"), "none");
}

TEST_F(levels, stars_and_question_marks_stand_for_text)
{
    for (const char* pattern :
         {"*", "**", "h*", "*6", "h*6", "*heap*", "heap ?6", "?*?", "*e*a*p*"}) {
        EXPECT_EQ(level_in((std::string(pattern) + ":guard").c_str(), "heap 16"), "guard")
            << pattern;
    }
    for (const char* pattern : {"?", "h", "*7", "heap 16?", "heap 1", "*p*h*", "H*", "heap  *"}) {
        EXPECT_EQ(level_in((std::string(pattern) + ":guard").c_str(), "heap 16"), "none")
            << pattern;
    }
}

TEST_F(levels, an_entry_that_is_none_is_left_out_and_said_once)
{
    testing::internal::CaptureStderr();
    EXPECT_EQ(level_in("a:gaurd,*:guard", "a"), "guard");
    EXPECT_EQ(level_in("Guard", "a"), "none");
    EXPECT_EQ(level_in("a:", "a"), "none");
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_EQ(said.find("eggbox: EGGBOX_CHECK has an entry"), 0u) << said;
    EXPECT_EQ(said.find('\n'), said.size() - 1) << said;
}

TEST_F(levels, the_environment_counts_more_than_the_options)
{
    EXPECT_EQ(stride_of("a", nullptr), PLAIN);
    EXPECT_EQ(stride_of("a", "guard"), GUARD);
    EXPECT_EQ(stride_of("a", "track"), TRACK);
    set("a:guard,b:off");
    EXPECT_EQ(stride_of("a", nullptr), GUARD);
    EXPECT_EQ(stride_of("a", "track"), GUARD);
    EXPECT_EQ(stride_of("a", "off"), GUARD);
    EXPECT_EQ(stride_of("b", "track"), PLAIN);
    EXPECT_EQ(stride_of("c", nullptr), PLAIN);
    EXPECT_EQ(stride_of("c", "track"), TRACK);
    set("pool:track");
    EXPECT_EQ(stride_of(nullptr, nullptr), TRACK);
    set("");
    EXPECT_EQ(stride_of("a", nullptr), PLAIN);
}

TEST_F(levels, static_memory_is_not_stretched_by_the_environment)
{
    alignas(64) static unsigned char memory[8192];
    egb_pool_options                 options = {};
    options.block_bytes                      = 64;
    options.memory                           = memory;
    options.memory_bytes                     = sizeof memory;
    set("*:guard");
    for (const char* check : {static_cast<const char*>(nullptr), "off", "check", "guard"}) {
        options.level        = level_named(check);
        egb_pool       pool  = {};
        egb_pool_stats stats = {};
        ASSERT_EQ(egb_pool_create(&pool, &options), EGB_OK);
        EXPECT_EQ(egb_pool_get_stats(pool, &stats), EGB_OK);
        const bool has_redzones = check != nullptr && std::string(check) == "guard";
        EXPECT_EQ(stats.stride_bytes, has_redzones ? GUARD : PLAIN);
        EXPECT_EQ(egb_pool_destroy(pool, EGB_DESTROY_REFUSE), EGB_OK);
    }
}

TEST_F(levels, have_names)
{
    EXPECT_STREQ(egb_level_text(EGB_LEVEL_OFF), "off");
    EXPECT_STREQ(egb_level_text(EGB_LEVEL_PASSTHROUGH), "passthrough");
    EXPECT_STREQ(egb_level_text(EGB_LEVEL_SAMPLE), "sample");
    EXPECT_STREQ(egb_level_text(static_cast<egb_level>(7)), "unknown");
}
