// SPDX-License-Identifier: MIT
// Files that others wrote: whatever is in them, the answer is a result or a failure with a reason.
#include "elf/elf.hpp"
#include "records/records.hpp"
#include "refusal.hpp"
#include "report/page.hpp"
#include "size/configuration.hpp"
#include "text/failure.hpp"
#include "text/text.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace
{

using json = nlohmann::ordered_json;

const std::vector<std::string>& report_names()
{
    static const std::vector<std::string> names = {
        "monday",
        "found",
        "tuesday",
        "process",
        "evil",
        "nothing",
        "silent",
        "recorded",
        "recorded-odd"
    };
    return names;
}

std::string run_file(const std::string& name)
{
    return tool::read_file(EGGBOX_RUNS "/" + name + ".json");
}

// All that the commands do with a report. Returns whether it was taken for one.
bool use(const std::string& text)
{
    try {
        const std::vector<tool::run_record> runs = {tool::parse_report(text, "a.json")};
        tool::report_page(runs, {"a.json"});
        tool::report_data(runs);
        tool::report_text(runs[0]);
        const tool::configuration plan = tool::plan(runs, "", 25, 95);
        tool::size_page(plan, {"a.json"});
        tool::fit_page(
            tool::check_fit(plan, tool::sum_up(runs)), "a", tool::sum_up(runs), {"a.json"}
        );
        tool::size_in_c(plan);
        tool::size_in_cpp(plan);
        tool::size_in_compat(plan);
    } catch (const tool::failure& error) {
        EXPECT_NE(std::string(error.what()), "");
        return refusal(text).empty();
    }
    return true;
}

bool use_configuration(const std::string& text)
{
    try {
        const tool::configuration earlier = tool::parse_configuration(text, "a.h");
        const tool::totals        now = tool::sum_up({tool::parse_report(run_file("monday"), "m")});
        tool::fit_page(tool::check_fit(earlier, now), "a.h", now, {"a.json"});
        tool::fit_data(tool::check_fit(earlier, now));
    } catch (const tool::failure&) {
        return false;
    }
    return true;
}

// "leaks/0/bytes": throws if it is not there.
json& member_at(json& from, const std::string& path)
{
    json*              at = &from;
    std::istringstream parts(path);
    for (std::string part; std::getline(parts, part, '/');) {
        at = at->is_array() ? &at->at(std::stoul(part)) : &at->at(part);
    }
    return *at;
}

class chance
{
  public:
    chance()
    {
        const char* const seed = std::getenv("EGGBOX_SEED");
        engine_.seed(seed == nullptr ? 1 : std::strtoul(seed, nullptr, 10));
    }

    std::size_t below(std::size_t bound)
    {
        return engine_() % bound;
    }

  private:
    std::mt19937_64 engine_;
};

// Bytes changed, taken out, put in, and whole parts repeated: what a truncated download, a full
// disk or an attacker makes of a file.
std::string damaged(std::string text, chance& random)
{
    static const std::vector<std::string> pieces = {
        "\"",
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "-1",
        "1e999",
        "18446744073709551615",
        "18446744073709551616",
        "0.5",
        "null",
        "true",
        "\\u0000",
        "\xff",
        "\xc2",
        "\n",
        "\\",
    };
    for (std::size_t times = 1 + random.below(4); times > 0 && !text.empty(); times--) {
        const std::size_t at     = random.below(text.size());
        const std::size_t length = random.below(std::min<std::size_t>(64, text.size() - at) + 1);
        switch (random.below(5)) {
            case 0: text[at] = static_cast<char>(random.below(256)); break;
            case 1: text.erase(at, length); break;
            case 2: text.insert(at, text.substr(random.below(text.size()), 64)); break;
            case 3: text.replace(at, length, pieces[random.below(pieces.size())]); break;
            default: text.resize(at); break;
        }
    }
    return text;
}

// Numbers stay numbers and names names, so that nearly all of these get past the reader.
void change_values(json& value, chance& random)
{
    static const std::uint64_t numbers[] = {0, 1, 15, 4096, UINT32_MAX, UINT64_MAX, UINT64_MAX / 2};
    if (value.is_structured()) {
        for (auto& each : value) {
            change_values(each, random);
        }
    } else if (random.below(4) != 0) {
        return;
    } else if (value.is_number_unsigned() && value != 1) {
        value = numbers[random.below(std::size(numbers))];
    } else if (value.is_boolean()) {
        value = random.below(2) == 0;
    }
}

TEST(Reader, TakesEveryRecordedRun)
{
    for (const std::string& name : report_names()) {
        EXPECT_EQ(refusal(run_file(name)), "") << name;
    }
}

TEST(Reader, WritesWhatItRead)
{
    for (const std::string& name : report_names()) {
        const std::string once = tool::report_text(tool::parse_report(run_file(name), name));
        EXPECT_EQ(tool::report_text(tool::parse_report(once, name)), once) << name;
    }
    const json original = json::parse(run_file("tuesday"));
    json       copy = json::parse(tool::report_text(tool::parse_report(run_file("tuesday"), "")));
    EXPECT_EQ(nlohmann::json(copy), nlohmann::json(original));
}

// Takes out each member that is anywhere, and replaces it by one of another type.
void each_member_is_required(json& whole, json& part, const std::string& where)
{
    if (part.is_array()) {
        for (std::size_t i = 0; i < part.size(); i++) {
            each_member_is_required(whole, part[i], where + "[" + std::to_string(i) + "]");
        }
    }
    if (!part.is_object()) {
        return;
    }
    std::vector<std::string> names;
    for (const auto& [name, value] : part.items()) {
        names.push_back(name);
    }
    for (const std::string& name : names) {
        if (name == "unreadable" || name == "silent") {
            continue;  // optional
        }
        const json        before = part[name];
        const std::string place  = where + (where.empty() ? "" : ".") + name;
        each_member_is_required(whole, part[name], place);
        part[name] = before.is_string() ? json(7) : json("seven");
        EXPECT_NE(refusal(whole.dump()), "") << place;
        if (name != "kind" && name != "schema") {
            EXPECT_NE(refusal(whole.dump()).find(place), std::string::npos)
                << refusal(whole.dump());
        }
        if (before.is_number()) {
            part[name] = -1;
            EXPECT_NE(refusal(whole.dump()), "") << place;
        }
        json without = part;
        without.erase(name);
        std::swap(part, without);
        EXPECT_NE(refusal(whole.dump()).find("has no \"" + name + "\""), std::string::npos)
            << place;
        std::swap(part, without);
        part[name] = before;
    }
}

// Redis writes "redis-server unixsocket:s" over its arguments.
TEST(Report, ShowsNoEmptyArgumentsBehindATitle)
{
    tool::run_record run            = tool::parse_report(run_file("monday"), "monday");
    run.processes.front().arguments = {"a server: busy", "", "", ""};
    EXPECT_NE(tool::report_page({run}, {"f"}).find("  a server: busy\n"), std::string::npos);
    run.processes.front().arguments = {"echo", "", "b"};
    EXPECT_NE(tool::report_page({run}, {"f"}).find("echo '' b\n"), std::string::npos);
    run.processes.front().arguments = {""};
    EXPECT_NE(tool::report_page({run}, {"f"}).find("  ''\n"), std::string::npos);
}

TEST(Reader, NamesThePlaceOfWhatIsMissingOrWrong)
{
    json whole = json::parse(run_file("tuesday"));
    each_member_is_required(whole, whole, "");
    EXPECT_EQ(refusal(whole.dump()), "");
}

// They may be left out, but must make sense if they are there.
TEST(Reader, NamesThePlaceOfFindingsThatAreWrong)
{
    const json whole = json::parse(run_file("found"));
    for (const char* const path :
         {"leaks/0/site",
          "leaks/0/site/module",
          "leaks/0/site/offset",
          "leaks/0/site/file",
          "leaks/0/site/line",
          "leaks/0/site/function",
          "leaks/0/pool",
          "leaks/0/blocks",
          "leaks/0/bytes",
          "leaks/0/oldest_ms",
          "leaked/places",
          "leaked/blocks",
          "leaked/bytes",
          "events/0/kind",
          "events/0/bytes",
          "events/1/damaged",
          "events/0/site/line",
          "events/0/alloc_site/line",
          "events/0/free_site/line"}) {
        json  wrong      = whole;
        json& place      = member_at(wrong["processes"][0], path);
        place            = place.is_string() ? json(7) : json("seven");
        std::string name = path;
        for (const char* const index : {"/0", "/1"}) {
            const std::size_t at = name.find(index);
            name                 = at == std::string::npos
                                       ? name
                                       : name.replace(at, 2, "[" + std::string(index + 1) + "]");
        }
        std::replace(name.begin(), name.end(), '/', '.');
        EXPECT_NE(refusal(wrong.dump()).find("processes[0]." + name), std::string::npos)
            << path << ": " << refusal(wrong.dump());
    }
}

TEST(Reader, KnowsOneSchema)
{
    json whole      = json::parse(run_file("monday"));
    whole["schema"] = 2;
    EXPECT_EQ(refusal(whole.dump()), "a.json: has schema 2; this eggbox knows 1");
}

TEST(Reader, IgnoresMembersItDoesNotKnow)
{
    json whole                    = json::parse(run_file("monday"));
    whole["later"]                = {1, 2, 3};
    whole["processes"][0]["more"] = "text";
    EXPECT_EQ(refusal(whole.dump()), "");
}

TEST(Reader, RefusesEveryTruncatedFile)
{
    const std::string text = json::parse(run_file("process")).dump();
    for (std::size_t bytes = 0; bytes < text.size(); bytes++) {
        ASSERT_NE(refusal(text.substr(0, bytes)), "") << bytes;
    }
    EXPECT_EQ(refusal(text.substr(0, 100)), "a.json: ends too early, after 100 bytes");
}

TEST(Reader, RefusesWhatIsNestedTooDeeply)
{
    const std::string deep(100000, '[');
    EXPECT_EQ(refusal(deep), "a.json: nested too deeply for an eggbox file");
    std::string objects;
    for (int i = 0; i < 100000; i++) {
        objects += "{\"a\":";
    }
    EXPECT_EQ(refusal(objects), "a.json: nested too deeply for an eggbox file");
}

TEST(Reader, RefusesNumbersBeyondItsOwn)
{
    json whole                = json::parse(run_file("process"));
    whole["pools"][0]["peak"] = 1;
    const std::string text    = whole.dump();
    const std::size_t at      = text.find("\"peak\":1,");
    ASSERT_NE(at, std::string::npos);
    for (const char* number :
         {"18446744073709551616", "-1", "1.5", "1e3", "1e999", "-0.0", "null"}) {
        EXPECT_NE(refusal(std::string(text).replace(at + 7, 1, number)), "") << number;
    }
    EXPECT_EQ(refusal(std::string(text).replace(at + 7, 1, "18446744073709551615")), "");
}

TEST(Reader, RefusesAFileLargerThanAnyReport)
{
    EXPECT_THROW(tool::read_file("/dev/zero"), tool::failure);
}

TEST(Reader, SurvivesDamage)
{
    chance      random;
    std::size_t taken = 0;
    for (int turn = 0; turn < 4000; turn++) {
        const std::string& name = report_names()[random.below(report_names().size())];
        taken += use(damaged(run_file(name), random));
    }
    EXPECT_GT(taken, 10u);  // else the damage is too much to get anywhere
}

TEST(Reader, SurvivesStrangeNumbers)
{
    chance      random;
    std::size_t taken = 0;
    for (int turn = 0; turn < 500; turn++) {
        json whole = json::parse(run_file(report_names()[random.below(5)]));
        change_values(whole, random);
        taken += use(whole.dump());
    }
    EXPECT_GT(taken, 250u);
}

TEST(Reader, SurvivesDamagedConfigurations)
{
    chance                    random;
    const tool::configuration plan =
        tool::plan({tool::parse_report(run_file("monday"), "m")}, "", 25, 99);
    const std::string forms[] = {
        tool::size_data(plan), tool::size_in_c(plan), tool::size_in_cpp(plan)
    };
    std::size_t taken = 0;
    for (int turn = 0; turn < 3000; turn++) {
        taken += use_configuration(damaged(forms[random.below(3)], random));
    }
    EXPECT_GT(taken, 10u);
    for (int turn = 0; turn < 300; turn++) {
        json whole = json::parse(forms[0]);
        change_values(whole, random);
        use_configuration(whole.dump());
    }
}

TEST(Reader, SurvivesDamagedPrograms)
{
    chance            random;
    const std::string good = tool::read_file("/proc/self/exe").substr(0, 1 << 16);
    const std::string path =
        testing::TempDir() + "damaged_elf_" + std::to_string(random.below(1000));
    std::size_t read = 0;
    for (int turn = 0; turn < 1000; turn++) {
        std::string text =
            good.substr(0, random.below(8) == 0 ? random.below(good.size()) : good.size());
        for (std::size_t times = random.below(6); times > 0 && text.size() > 1024; times--) {
            text[4 + random.below(random.below(2) == 0 ? 60 : 1000)] =
                static_cast<char>(random.below(256));
        }
        std::ofstream(path, std::ios::binary) << text;
        try {
            read += tool::read_elf(path, {"malloc"}).has_value();
        } catch (const tool::failure&) {
        }
    }
    std::remove(path.c_str());
    EXPECT_GT(read, 10u);
}

TEST(Text, NeverMovesTheCursor)
{
    EXPECT_EQ(tool::shown("a\x1b[2J\r\n\x7f."), "a\\x1b[2J\\x0d\\x0a\\x7f.");
    EXPECT_EQ(tool::shown("\xc2\x9b."), "\\xc2\\x9b.");    // U+009B
    EXPECT_EQ(tool::shown("l\xe9\x9b."), "l\\xe9\\x9b.");  // Latin-1, and CSI of 8 bits
    EXPECT_EQ(tool::shown("\x9b\xc3"), "\\x9b\\xc3");
    EXPECT_EQ(tool::shown("\xf0\x9f\x98\x80\x80"), "\xf0\x9f\x98\x80\\x80");
    EXPECT_EQ(tool::shown("\xe2\x80\xae."), "\\xe2\\x80\\xae.");  // U+202E
    EXPECT_EQ(tool::shown("\xe2\x80\xa9\xe2\x81\xaa"), "\xe2\x80\xa9\xe2\x81\xaa");
    EXPECT_EQ(tool::shown("\xc2\xa0\xc3\x9b"), "\xc2\xa0\xc3\x9b");  // U+00A0, U+00DB
}

TEST(Text, RoundsHonestly)
{
    EXPECT_EQ(tool::percent_text(999999, 1000000), "> 99.99 %");
    EXPECT_EQ(tool::percent_text(1, 1000000), "< 0.1 %");
    EXPECT_EQ(tool::percent_text(0, 5), "0.0 %");
    EXPECT_EQ(tool::percent_text(5, 5), "100.0 %");
    EXPECT_EQ(tool::percent_text(0, 0), "-");
    EXPECT_EQ(tool::bytes_text(1023), "1023 B");
    EXPECT_EQ(tool::bytes_text(1024), "1.00 KiB");
    EXPECT_EQ(tool::bytes_text(1024 * 1024 - 1), "1.00 MiB");
    EXPECT_EQ(tool::bytes_text(UINT64_MAX), "16.0 EiB");
    EXPECT_EQ(tool::grouped(1234567), "1,234,567");
    EXPECT_EQ(tool::plus(UINT64_MAX, 1), UINT64_MAX);
    EXPECT_EQ(tool::times(UINT64_MAX / 2, 3), UINT64_MAX);
}

TEST(Text, QuotesForAShell)
{
    EXPECT_EQ(tool::shell_quoted(""), "''");
    EXPECT_EQ(tool::shell_quoted("a-b/c.d"), "a-b/c.d");
    EXPECT_EQ(tool::shell_quoted("it's $1\\"), "'it'\\''s $1\\'");
    EXPECT_EQ(tool::shell_quoted("it's\n\\"), "$'it\\'s\\x0a\\\\'");
}

}  // namespace
