// SPDX-License-Identifier: MIT
// JSON that was made to cost much: allocations, and the most memory at one time, grow with its
// values and its bytes, whatever it is. A parser that looks at any place again for each value does
// not come to an end with the million values here.
#include "records/records.hpp"
#include "refusal.hpp"
#include "size/configuration.hpp"
#include "sums/totals.hpp"
#include "text/failure.hpp"
#include "json/reader.hpp"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <new>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <malloc.h>

namespace
{

struct {
    std::size_t allocations;
    std::size_t bytes;
    std::size_t peak;
} used;

void* take(std::size_t bytes)
{
    void* const block = std::malloc(bytes);
    if (block == nullptr) {
        throw std::bad_alloc();
    }
    used.allocations++;
    used.bytes += malloc_usable_size(block);
    used.peak = used.bytes > used.peak ? used.bytes : used.peak;
    return block;
}

void give(void* block)
{
    used.bytes -= block == nullptr ? 0 : malloc_usable_size(block);
    std::free(block);
}

}  // namespace

void* operator new(std::size_t bytes)
{
    return take(bytes);
}

// std::stable_sort() asks for its memory like this.
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept
{
    try {
        return take(bytes);
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
}

void operator delete(void* block) noexcept
{
    give(block);
}

void operator delete(void* block, std::size_t) noexcept
{
    give(block);
}

namespace
{

constexpr std::size_t million = 1000000;
constexpr std::size_t many    = EGGBOX_MANY;

std::string repeated(std::size_t times, const std::function<std::string(std::size_t)>& part)
{
    std::string out;
    for (std::size_t i = 0; i < times; i++) {
        out += (i == 0 ? "" : ",") + part(i);
    }
    return out;
}

std::string repeated(std::size_t times, const std::string& part)
{
    return repeated(times, [&](std::size_t) { return part; });
}

// The same for a text of so many values, within bounds.
std::string bounded(const std::string& text, std::size_t values)
{
    const std::size_t before = used.bytes;
    used.allocations         = 0;
    used.peak                = used.bytes;
    const std::string why    = refusal(text);
    EXPECT_LT(used.allocations, 6 * values + 1000);
    EXPECT_LT(used.peak - before, 400 * values + 10 * text.size() + million);
    return why;
}

// A process, with other members, or one of its own replaced.
std::string process(const std::string& more, const std::string& without = "")
{
    std::string out = "{";
    for (const char* const member :
         {R"("schema":1)",
          R"("kind":"eggbox-process")",
          R"("program":"a")",
          R"("arguments":[])",
          R"("pid":1)",
          R"("parent_pid":1)",
          R"("duration_s":1)",
          R"("level":"check")",
          R"("library":"")",
          R"("peak_resident_bytes":1)",
          R"("minor_faults":1)",
          R"("major_faults":1)",
          R"("is_measured":true)",
          R"("large":{"allocations":0,"frees":0,"in_use":0,"peak":0,"bytes_in_use":0,)"
          R"("peak_bytes":0,"failures":0})",
          R"("not_served":[])",
          R"("misuse":[])",
          R"("pools":[])"}) {
        const bool is_replaced = !without.empty() && std::string(member).find(without) == 0;
        out += is_replaced ? "" : std::string(member) + ",";
    }
    return out + more + "}";
}

TEST(Json, AProcessIsTaken)
{
    EXPECT_EQ(bounded(process("\"more\":0"), 100), "");
}

TEST(Json, ManyElementsOfAListOfTheSchema)
{
    const std::string texts = "\"arguments\":[" + repeated(many, "\"a\"") + "]";
    EXPECT_EQ(bounded(process(texts, "\"arguments\""), many), "");
    const std::string counted = "\"misuse\":[" + repeated(many, R"({"kind":"a","count":1})") + "]";
    EXPECT_EQ(bounded(process(counted, "\"misuse\""), 3 * many), "");
    const std::string wrong = "\"pools\":[" + repeated(many, "{}") + "]";
    EXPECT_EQ(bounded(process(wrong, "\"pools\""), many), "a.json: pools[0] has no \"name\"");
}

// Each is a kind of its own, and no other has its version: the sums are as cheap as the reading.
TEST(Json, ManyKindsAndVersionsAreAddedUp)
{
    const auto kind = [](std::size_t i) {
        return fmt::format(R"({{"kind":"{}","count":1}})", i);
    };
    const auto reason = [](std::size_t i) {
        return fmt::format(R"({{"reason":"{}","count":1}})", i);
    };
    const auto version = [](std::size_t i) {
        return process(fmt::format(R"("library":"version {}")", i), "\"library\"");
    };
    const std::string kinds = R"("misuse":[)" + repeated(many, kind) + "]";
    const std::string other = R"("not_served":[)" + repeated(many, reason) + "]";
    const std::string run   = fmt::format(
        R"({{"schema":1,"kind":"eggbox-report","exit_status":0,"command":[],"wall_s":1,)"
          R"("processes":[{},{},{}]}})",
        process(kinds, "\"misuse\""),
        process(other, "\"not_served\""),
        repeated(many / 20, version)
    );
    const tool::run_record read = tool::parse_report(run, "a.json");
    used.allocations            = 0;
    const tool::totals sums     = tool::sum_up({read, read});
    EXPECT_LT(used.allocations, 30 * many);
    EXPECT_EQ(sums.misuse.size(), many);
    EXPECT_EQ(sums.misuse.back().count, 2u);
    EXPECT_EQ(sums.misuse.back().what, std::to_string(many - 1));
    EXPECT_EQ(sums.not_served.size(), many);
    EXPECT_EQ(std::count(sums.library.begin(), sums.library.end(), ','), many / 20 - 1);
}

// Every other size is left out, and each has a row of its own otherwise.
TEST(Json, ManySizesAreChosenAndChecked)
{
    tool::run_record     run;
    tool::process_record all;
    for (std::size_t i = 1; i <= many / 4; i++) {
        tool::pool_record pool;
        pool.is_size_class = true;
        pool.block_bytes   = 16 * i;
        pool.allocations   = i % 2 == 0 ? 9 : 1;
        pool.peak          = 1;
        all.pools.push_back(pool);
    }
    run.processes.push_back(all);
    const tool::configuration plan = tool::plan({run}, "", 25, 90);
    ASSERT_EQ(plan.rows.size(), many / 8);
    EXPECT_EQ(plan.left_out.size(), many / 8);
    EXPECT_EQ(plan.rows.front().least_bytes, 17u);
    EXPECT_EQ(plan.rows.back().least_bytes, plan.left_out.back().block_bytes + 1);
    EXPECT_TRUE(tool::check_fit(plan, tool::sum_up({run})).fits());
}

TEST(Json, ManyElementsWhereTheSchemaHasNone)
{
    for (const char* const each : {"0", "{}", "{\"a\":[]}"}) {
        const std::string list = "[" + repeated(many, each) + "]";
        EXPECT_EQ(bounded(process("\"more\":" + list), 3 * many), "") << each;
    }
    const std::string list = "[" + repeated(many, "[]") + "]";
    EXPECT_EQ(
        bounded(process("\"program\":" + list, "\"program\""), many),
        "a.json: program should be a string"
    );
    EXPECT_EQ(bounded(list, many), "a.json: should be an object");
}

TEST(Json, ManyKeys)
{
    const auto key = [](std::size_t i) {
        return "\"" + std::to_string(i) + "\":{}";
    };
    EXPECT_EQ(bounded(process(repeated(many, key)), many), "");
    EXPECT_EQ(bounded(process("\"more\":{" + repeated(many, key) + "}"), many), "");
}

// The last one counts, and the others take no memory.
TEST(Json, OneKeyManyTimes)
{
    const std::string text = process(repeated(many, "\"pid\":[[]]") + ",\"pid\":7");
    EXPECT_EQ(tool::parse_report(text, "a").processes.front().pid, 7u);
    used.peak                = used.bytes;
    const std::size_t before = used.bytes;
    EXPECT_EQ(refusal(text), "");
    EXPECT_LT(used.peak - before, 100000u);
}

TEST(Json, ALongString)
{
    const std::string text = "\"" + std::string(20 * million, 'a') + "\"";
    EXPECT_EQ(bounded(process("\"more\":" + text), 100), "");
    EXPECT_EQ(bounded(process(text + ":0"), 100), "");
    EXPECT_EQ(bounded(process("\"program\":" + text, "\"program\""), 100), "");
    const std::string escapes = "\"" + std::string(10 * million, '\\') + "\"";
    EXPECT_EQ(bounded(process("\"more\":" + escapes), 100), "");
    EXPECT_NE(bounded(process("\"more\":" + text.substr(0, million)), 100), "");
}

TEST(Json, ALongNumber)
{
    const std::string digits(10 * million, '9');
    for (const char* const before : {"", "-", "1e"}) {
        const std::string why = bounded(process("\"more\":" + (before + digits)), 100);
        EXPECT_NE(why.find("not JSON"), std::string::npos) << why;
    }
    EXPECT_EQ(bounded(process("\"more\":0." + digits), 100), "");
    EXPECT_EQ(
        bounded(process("\"pid\":0." + digits, "\"pid\""), 100),
        "a.json: pid should be a whole number, 0 or more"
    );
}

TEST(Json, NestedAsDeeplyAsItMayBe)
{
    const auto nested = [](std::size_t depth) {
        return process("\"more\":" + std::string(depth, '[') + std::string(depth, ']'));
    };
    EXPECT_EQ(bounded(nested(15), 100), "");
    EXPECT_EQ(bounded(nested(16), 100), "a.json: nested too deeply for an eggbox file");
    EXPECT_EQ(
        bounded(std::string(20 * million, '['), 100), "a.json: nested too deeply for an eggbox file"
    );
}

// Two bytes for each value, which takes sixteen and more in memory.
TEST(Json, MoreValuesThanAnyReportHas)
{
    const std::string text = "[" + repeated(9 * million, "0") + "]";
    EXPECT_EQ(bounded(text, 9 * million), "a.json: too many values for an eggbox file");
}

}  // namespace
