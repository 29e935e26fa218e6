// SPDX-License-Identifier: MIT
// A folder for the reports of a test, and the text of a report in it.
#ifndef EGGBOX_TESTS_SUPPORT_REPORT_FOLDER_HPP
#define EGGBOX_TESTS_SUPPORT_REPORT_FOLDER_HPP

#include "eggbox/pool.h"
#include "eggbox/report.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

class report_folder : public testing::Test
{
  protected:
    void SetUp() override
    {
        ASSERT_NE(mkdtemp(folder_), nullptr);
    }

    void TearDown() override
    {
        std::filesystem::remove_all(folder_);
    }

    egb_status write() const
    {
        return egb_report_write(folder_);
    }

    std::size_t files() const
    {
        const std::filesystem::directory_iterator all(folder_);
        return static_cast<std::size_t>(std::distance(begin(all), end(all)));
    }

    // The text of the one file.
    std::string text() const
    {
        EXPECT_EQ(files(), 1u);
        const std::filesystem::path path = std::filesystem::directory_iterator(folder_)->path();
        EXPECT_EQ(path.extension(), ".json");
        std::ifstream file(path);
        return {std::istreambuf_iterator<char>(file), {}};
    }

    // The text of a new one. Each restart makes another file.
    std::string written() const
    {
        for (const std::filesystem::directory_entry& each :
             std::filesystem::directory_iterator(folder_)) {
            std::filesystem::remove(each.path());
        }
        EXPECT_EQ(write(), EGB_OK);
        return text();
    }

    char folder_[64] = "/tmp/eggbox-test-XXXXXX";
};

inline egb_pool new_pool(const std::string& name, egb_level level)
{
    egb_pool_options options = {};
    options.name             = name.c_str();
    options.block_bytes      = 24;
    options.level            = level;
    egb_pool pool;
    EXPECT_EQ(egb_pool_create(&pool, &options), EGB_OK);
    return pool;
}

// The text that follows `name`, up to the next `end`.
inline std::string after(const std::string& text, const std::string& name, const char* end)
{
    const std::size_t found = text.find(name);
    if (found == std::string::npos) {
        return "";
    }
    const std::size_t begin = found + name.size();
    return text.substr(begin, text.find(end, begin) - begin);
}

#endif  // EGGBOX_TESTS_SUPPORT_REPORT_FOLDER_HPP
