// SPDX-License-Identifier: MIT
// Functions of Rust have the names that people write, in both kinds of symbols.
#include "run/rust_names.hpp"
#include "sums/stacks.hpp"

#include <gtest/gtest.h>

#include <string>

using tool::as_rust_name;
using tool::rust_path;

namespace
{

std::string base_62(std::size_t number)
{
    const std::string digits = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    std::string       out;
    for (number--; number >= 62; number /= 62) {
        out = digits[number % 62] + out;
    }
    return digits[number] + out;
}

// A generic argument for each level: two references to the one before.
std::string pairs_of_pairs(int levels)
{
    std::string out  = "_RINvC4shop4openh";
    std::size_t last = out.size() - 3;  // as references count, from behind _R
    for (int i = 0; i < levels; i++) {
        const std::string to = "B" + base_62(last) + "_";
        last                 = out.size() - 2;
        out += "T" + to + to + "E";
    }
    return out + "E";
}

}  // namespace

TEST(rust_names, a_symbol_has_the_path_of_the_function)
{
    EXPECT_EQ(rust_path("_RNvCsgY6Mt91CT9J_4shop4open"), "shop::open");
    EXPECT_EQ(rust_path("_RNvNtCs4X4t9plMPHF_4shop4line9path_push"), "shop::line::path_push");
    EXPECT_EQ(rust_path("_RINvNtCs1_4core6escape4takeKja_ECs2_4shop"), "core::escape::take");
    EXPECT_EQ(rust_path("_RNvMs_NtC4shop4cartINtB4_4CartmE3add"), "shop::cart::Cart::add");
    EXPECT_EQ(
        rust_path("_RNvXs_C4shopRDNtNtC4core3fmt5DebugEL_NtBe_4Show4show"),
        "<dyn core::fmt::Debug as core::fmt::Show>::show"
    );
    EXPECT_EQ(rust_path("_RNCNCNvC4shop4main00C4shop"), "shop::main::closure::closure");
    EXPECT_EQ(rust_path("_RINvC4shop4callFUKCRL_hEuE"), "shop::call");
}

TEST(rust_names, what_is_no_symbol_of_rust_has_no_path)
{
    for (const char* const text :
         {"",
          "_",
          "_R",
          "main",
          "_RB_",
          "_RIC1aKB4_E",
          "_RNvB_1a",
          "_RNvC9a",
          "_RNvC4shop",
          "_RNvC99999999999999999999999a",
          "_ZN4shop4openE",
          "_Read"}) {
        EXPECT_EQ(rust_path(text), "") << text;
    }
    const std::string deep(100000, 'S');
    EXPECT_EQ(rust_path("_RINvC4shop4open" + deep + "hE"), "");
    EXPECT_EQ(rust_path(pairs_of_pairs(3)), "shop::open");
    EXPECT_EQ(rust_path(pairs_of_pairs(40)), "");
}

TEST(rust_names, an_older_name_has_its_signs_and_no_number)
{
    EXPECT_EQ(as_rust_name("shop::open::h0123456789abcdef"), "shop::open");
    EXPECT_EQ(
        as_rust_name("_$LT$u8$u20$as$u20$alloc..vec..spec_from_elem..SpecFromElem$GT$::from_elem"
                     "::he8a2851216c29fbd"),
        "<u8 as alloc::vec::spec_from_elem::SpecFromElem>::from_elem"
    );
    EXPECT_EQ(
        as_rust_name("shop::open::_$u7b$$u7b$closure$u7d$$u7d$::h0123456789abcdef"),
        "shop::open::closure"
    );
    for (const char* const name :
         {"shop::open",
          "shop::open::h0123",
          "a$LT$b",
          "::h0123456789abcdef",
          "shop::open::h0123456789abcdeg"}) {
        EXPECT_EQ(as_rust_name(name), name);
    }
}

TEST(rust_names, a_stack_is_from_the_first_call_of_the_program_to_its_main)
{
    tool::stack_record stack;
    for (const char* const name :
         {"<alloc::vec::Vec<u8> as core::clone::Clone>::clone",
          "<u8 as alloc::vec::spec_from_elem::SpecFromElem>::from_elem",
          "alloc::vec::from_elem",
          "<shop::Cart>::add",
          "shop::open",
          "shop::main",
          "core::ops::function::FnOnce::call_once",
          "std::sys::backtrace::__rust_begin_short_backtrace",
          "std::rt::lang_start",
          "main"}) {
        tool::place_record place;
        place.function = name;
        place.file     = "shop.rs";
        place.line     = 7;
        stack.push_back(place);
    }
    EXPECT_EQ(
        tool::stack_text(stack, 10), "add shop.rs:7 < shop::open shop.rs:7 < shop::main shop.rs:7"
    );
    stack.front().function = "core::num::<impl usize>::add";
    EXPECT_EQ(tool::call_name(stack.front()), "core::num::add");
}

TEST(rust_names, the_library_of_rust_is_no_namespace_of_the_program)
{
    const auto is_left_out = [](const char* function, const char* file) {
        tool::place_record place;
        place.function = function;
        place.file     = file;
        return tool::only_allocates(place);
    };
    EXPECT_TRUE(is_left_out("alloc::vec::from_elem", "library/alloc/src/vec/mod.rs"));
    EXPECT_TRUE(is_left_out("alloc::vec::from_elem", ""));
    EXPECT_FALSE(is_left_out("alloc::open(int)", "shop.cpp"));
    EXPECT_FALSE(is_left_out("alloc::open", "shop.cpp"));
    EXPECT_FALSE(is_left_out("alloc::open(int) const", ""));
}
