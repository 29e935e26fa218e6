// SPDX-License-Identifier: MIT
#include "eggbox/misuse.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <thread>
#include <vector>

extern "C" const char* egb_test_unknown_status_text(void);
extern "C" const char* egb_test_unknown_event_text(void);
extern "C" const char* egb_test_unknown_level_text(void);

TEST(status, every_value_has_a_text_of_its_own)
{
    std::set<std::string> texts;
    for (int status = EGB_OK; status <= EGB_CANCELLED; status++) {
        texts.insert(egb_status_text(static_cast<egb_status>(status)));
    }
    EXPECT_EQ(texts.size(), 11u);
    EXPECT_EQ(texts.count("unknown status"), 0u);
    EXPECT_STREQ(egb_status_text(EGB_OK), "ok");
}

TEST(status, any_thread_gets_the_same_texts_for_ever)
{
    const auto all = [] {
        std::vector<const char*> texts;
        for (int i = 0; i < 20; i++) {
            texts.push_back(egb_status_text(static_cast<egb_status>(i % 11)));
            texts.push_back(egb_misuse_text(static_cast<egb_misuse_kind>(1 + i % 12)));
            texts.push_back(egb_level_text(static_cast<egb_level>(i % 7)));
        }
        return texts;
    };
    std::vector<const char*> theirs;
    std::thread              other([&] { theirs = all(); });
    const auto               ours = all();
    other.join();
    EXPECT_EQ(ours, theirs) << "the strings themselves, not copies";
}

// A number that changes breaks programs that were compiled before.
TEST(status, the_numbers_are_those_of_the_first_version)
{
    const std::vector<int> statuses = {
        EGB_OK,
        EGB_INVALID,
        EGB_NO_MEMORY,
        EGB_LIMIT,
        EGB_STALE,
        EGB_BUSY,
        EGB_CORRUPT,
        EGB_UNSUPPORTED
    };
    EXPECT_EQ(statuses, (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7}));
    const std::vector<int> kinds = {
        EGB_MISUSE_NO_POOL,
        EGB_MISUSE_FOREIGN,
        EGB_MISUSE_INTERIOR,
        EGB_MISUSE_NEVER_ALLOCATED,
        EGB_MISUSE_DOUBLE_FREE,
        EGB_MISUSE_OVERWRITTEN,
        EGB_MISUSE_WRONG_POOL,
        EGB_MISUSE_STALE,
        EGB_MISUSE_OVERRUN,
        EGB_MISUSE_UNDERRUN,
        EGB_MISUSE_SEALED,
        EGB_MISUSE_WRONG_SIZE
    };
    EXPECT_EQ(kinds, (std::vector<int>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}));
    const std::vector<int> levels = {
        EGB_LEVEL_DEFAULT,
        EGB_LEVEL_OFF,
        EGB_LEVEL_CHECK,
        EGB_LEVEL_GUARD,
        EGB_LEVEL_TRACK,
        EGB_LEVEL_PASSTHROUGH,
        EGB_LEVEL_SAMPLE
    };
    EXPECT_EQ(levels, (std::vector<int>{0, 1, 2, 3, 4, 5, 6}));
}

TEST(status, an_unknown_value_has_a_text_too)
{
    EXPECT_STREQ(egb_test_unknown_status_text(), "unknown status");
    EXPECT_STREQ(egb_test_unknown_level_text(), "unknown");
}

TEST(status, every_kind_of_misuse_has_a_text_of_its_own)
{
    std::set<std::string> texts;
    for (int kind = EGB_MISUSE_NO_POOL; kind <= EGB_MISUSE_WRONG_SIZE; kind++) {
        texts.insert(egb_misuse_text(static_cast<egb_misuse_kind>(kind)));
    }
    EXPECT_EQ(texts.size(), 12u);
    EXPECT_EQ(texts.count("unknown misuse"), 0u);
    EXPECT_STREQ(egb_test_unknown_event_text(), "unknown misuse");
}
