// SPDX-License-Identifier: MIT
// The report tells of pools that were destroyed before it was written.
#include "report_folder.hpp"

namespace
{

class report_of_ended : public report_folder
{
  protected:
    void SetUp() override
    {
        report_folder::SetUp();
        egb_report_restart();
        egb_report_announce(folder_);
    }

    void TearDown() override
    {
        egb_report_restart();
        report_folder::TearDown();
    }
};

TEST_F(report_of_ended, pools_that_end_after_the_announcement_are_told_of_by_name)
{
    for (const egb_destroy how : {EGB_DESTROY_FORCE, EGB_DESTROY_REFUSE}) {
        const egb_pool pool  = new_pool("short-lived", EGB_LEVEL_CHECK);
        void* const    block = egb_pool_alloc(pool);
        EXPECT_EQ(egb_pool_destroy(pool, EGB_DESTROY_REFUSE), EGB_BUSY);  // it goes on
        egb_pool_free(pool, block);
        EXPECT_EQ(egb_pool_destroy(pool, how), EGB_OK);
    }
    EXPECT_EQ(egb_pool_destroy(new_pool("unused", EGB_LEVEL_CHECK), EGB_DESTROY_FORCE), EGB_OK);
    const std::string all   = written();
    const std::size_t ended = all.find("{\"name\":\"short-lived\"");
    ASSERT_NE(ended, std::string::npos);
    const std::string one = all.substr(ended, all.find('}', ended) - ended);
    EXPECT_NE(one.find("\"peak\":1,\"allocations\":2,\"frees\":2,"), std::string::npos) << one;
    EXPECT_NE(one.find("\"in_use\":0,"), std::string::npos) << one;
    EXPECT_NE(one.find("\"ended\":2"), std::string::npos) << one;
    EXPECT_EQ(all.find("\"unused\""), std::string::npos);
    egb_report_restart();  // the report of a new process
    EXPECT_EQ(written().find("short-lived"), std::string::npos);
}

// A forked child has the pools of its parent, and counts from the fork on.
TEST_F(report_of_ended, a_new_report_counts_from_its_begin)
{
    const egb_pool kept  = new_pool("kept", EGB_LEVEL_CHECK);
    const egb_pool idle  = new_pool("idle", EGB_LEVEL_CHECK);
    const egb_pool ends  = new_pool("ends", EGB_LEVEL_CHECK);
    void* const    block = egb_pool_alloc(kept);
    egb_pool_free(idle, egb_pool_alloc(idle));
    egb_pool_free(ends, egb_pool_alloc(ends));
    egb_report_restart();
    egb_report_announce(folder_);
    egb_pool_free(kept, egb_pool_alloc(kept));
    egb_pool_free(ends, egb_pool_alloc(ends));
    EXPECT_EQ(egb_pool_destroy(ends, EGB_DESTROY_REFUSE), EGB_OK);
    EXPECT_EQ(egb_pool_destroy(idle, EGB_DESTROY_REFUSE), EGB_OK);
    const std::string all = written();
    for (const char* name : {"kept", "ends"}) {
        const std::size_t at  = all.find(std::string("{\"name\":\"") + name);
        const std::string one = all.substr(at, all.find('}', at) - at);
        EXPECT_NE(one.find("\"allocations\":1,\"frees\":1,"), std::string::npos) << one;
    }
    EXPECT_NE(all.find("\"in_use\":1,"), std::string::npos);
    EXPECT_EQ(all.find("\"idle\""), std::string::npos);
    egb_pool_free(kept, block);
    EXPECT_EQ(egb_pool_destroy(kept, EGB_DESTROY_REFUSE), EGB_OK);
}

TEST_F(report_of_ended, the_table_of_ended_pools_has_an_end)
{
    for (int i = 0; i < 300; i++) {
        const egb_pool pool = new_pool("many " + std::to_string(i), EGB_LEVEL_CHECK);
        egb_pool_free(pool, egb_pool_alloc(pool));
        EXPECT_EQ(egb_pool_destroy(pool, EGB_DESTROY_FORCE), EGB_OK);
    }
    const std::string all = written();
    EXPECT_NE(all.find("\"many 255\""), std::string::npos);
    EXPECT_EQ(all.find("\"many 256\""), std::string::npos);
}

}  // namespace
