// SPDX-License-Identifier: MIT
#include "eggbox/misuse.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

extern "C" const char* egb_test_unknown_status_text(void);
extern "C" const char* egb_test_unknown_event_text(void);

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

TEST(status, an_unknown_value_has_a_text_too)
{
    EXPECT_STREQ(egb_test_unknown_status_text(), "unknown status");
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
