// SPDX-License-Identifier: MIT
#include "sums/stacks.hpp"

#include "text/text.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <string_view>

#include <fmt/format.h>

namespace tool
{
namespace
{

bool begins_with(std::string_view text, std::string_view beginning)
{
    return text.substr(0, beginning.size()) == beginning;
}

std::string last_part(const std::string& path)
{
    return path.substr(path.rfind('/') + 1);
}

// Relative to the current folder if the path is below it.
std::string near_path(const std::string& path)
{
    std::error_code   failed;
    const std::string here = std::filesystem::current_path(failed).string() + "/";
    return failed || path.compare(0, here.size(), here) != 0 ? path : path.substr(here.size());
}

// ---- names of functions -------------------------------------------------------------------------

// The name without parameters, template arguments and the type of the result, as people call it.
// The name of an operator may have brackets of its own, so only its parameters are cut.
std::string short_name(const std::string& name)
{
    const std::size_t operators = name.find("operator");
    if (operators != std::string::npos) {
        const bool is_call = name.compare(operators, 10, "operator()") == 0;
        return name.substr(0, name.find('(', operators + (is_call ? 10 : 0)));
    }
    std::string out;
    int         depth = 0;
    for (const char each : name) {
        if (each == '(' && depth == 0 && !out.empty() && out.back() != ':') {
            break;
        }
        depth += each == '<' || each == '(' || each == '{' ? 1 : 0;
        const bool is_separated =
            each == ':' && out.size() > 1 && out.substr(out.size() - 2) == "::";
        if (depth == 0 && !is_separated) {  // no second "::" behind a part left out
            out = each == ' ' ? "" : out + each;
        }
        depth -= each == '>' || each == ')' || each == '}' ? 1 : 0;
    }
    const std::size_t unnamed = out.rfind("::", 0) == 0 ? 2 : 0;  // "::" of a nameless namespace
    return out.empty() || depth != 0 ? name : out.substr(unnamed);
}

bool is_word_of(std::string_view name, std::string_view word)
{
    return std::search(name.begin(), name.end(), word.begin(), word.end(), [](char a, char b) {
               return std::tolower(static_cast<unsigned char>(a)) == b;
           }) != name.end();
}

bool ends_with(std::string_view text, std::string_view end)
{
    return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

// The part of Rust's library that allocates. It has functions of others in front of its own. A
// program in C++ may have a namespace of this name: its functions have parameters.
bool is_of_rust(const place_record& place)
{
    const std::string_view function = place.function;
    const bool may_be = place.file.empty() ? function.find('(') == std::string_view::npos
                                           : ends_with(place.file, ".rs");
    if (!may_be) {
        return false;
    }
    return begins_with(function, "alloc::") || begins_with(function, "<alloc::") ||
           function.find(" as alloc::vec::spec_") != std::string_view::npos;
}

// Operator new, the C++ library, and wrappers such as xmalloc, g_malloc0, zmalloc,
// _PyObject_Malloc, CRYPTO_zalloc, pg_strdup.
bool has_name_of_wrapper(const place_record& place)
{
    static constexpr std::array words = {
        "malloc", "calloc", "realloc", "zalloc", "palloc", "memalign", "strdup", "strndup", "memdup"
    };
    static constexpr std::array names = {"alloc", "allocate", "Alloc", "ngx_alloc", "mem_alloc"};

    const std::string name = short_name(place.function);
    if (begins_with(name, "operator new") || begins_with(name, "std::") ||
        begins_with(name, "__gnu_cxx::") || is_of_rust(place)) {
        return true;
    }
    const std::string own = name.substr(name.rfind(':') + 1);
    return std::find(names.begin(), names.end(), own) != names.end() ||
           std::any_of(words.begin(), words.end(), [&](const char* word) {
               return is_word_of(own, word);
           });
}

}  // namespace

bool only_allocates(const place_record& place)
{
    return place.fold == folding::always ||
           (place.fold == folding::by_name && has_name_of_wrapper(place));
}

bool only_starts(const place_record& place)
{
    const std::string name   = short_name(place.function);
    const std::string module = last_part(place.module);
    return name == "_start" || begins_with(name, "std::") || begins_with(module, "libc.so") ||
           begins_with(name, "core::ops::function::FnOnce") || begins_with(module, "libpthread") ||
           begins_with(module, "libstdc++") || begins_with(module, "libc++") ||
           begins_with(module, "ld-linux") || begins_with(module, "ld-musl");
}

// ---- stacks -------------------------------------------------------------------------------------

namespace
{

struct part {
    std::size_t first;
    std::size_t end;
};

part shown_part(const stack_record& stack)
{
    // Rust marks what calls its main() and its threads.
    const auto  main_at = std::find_if(stack.begin(), stack.end(), [](const place_record& place) {
        return place.function == "main" ||
               place.function.find("__rust_begin_short_backtrace") != std::string::npos;
    });
    std::size_t end     = stack.size();
    if (main_at != stack.end()) {
        end = static_cast<std::size_t>(main_at - stack.begin()) + 1;
    }
    // Without symbols there is no main(): the last call is the one that starts the C library.
    if (main_at == stack.end() && end > 2 && only_starts(stack[end - 2])) {
        end--;
    }
    while (end > 1 && only_starts(stack[end - 1])) {
        end--;
    }
    std::size_t first = 0;
    while (first + 1 < end && only_allocates(stack[first])) {
        first++;
    }
    return {first, end};
}

// Without a line the innermost call is told by its address: there may be several in a function. The
// path of the innermost is for addr2line.
std::string call_text(const place_record& place, bool is_innermost)
{
    if (place.function.empty()) {
        const std::string text = place_text(place);
        return is_innermost ? text : last_part(text);
    }
    std::string out = shown(short_name(place.function)) + (place.is_inlined ? " (inlined)" : "");
    if (!place.file.empty()) {
        out += fmt::format(" {}:{}", shown(last_part(place.file)), place.line);
    } else if (is_innermost) {
        out += fmt::format(" ({}+{:#x})", shown(last_part(place.module)), place.offset);
    }
    return out;
}

}  // namespace

std::string place_text(const place_record& place)
{
    const std::string in = fmt::format("{}+{:#x}", shown(place.module), place.offset);
    if (!place.file.empty()) {
        return fmt::format("{}:{}", shown(near_path(place.file)), place.line) +
               (place.function.empty() ? "" : fmt::format(" ({})", shown(place.function)));
    }
    if (!place.function.empty()) {
        return fmt::format("{} ({})", shown(place.function), last_part(in));
    }
    return !place.module.empty() ? in
           : place.address != 0  ? fmt::format("{:#x}", place.address)
                                 : "unknown place";
}

std::string stack_text(const stack_record& stack, std::size_t most)
{
    const part  of = shown_part(stack);
    std::string out;
    for (std::size_t i = of.first; i < of.end; i++) {
        if (i - of.first == most) {
            return out + fmt::format(" < {} more", of.end - i);
        }
        out += (out.empty() ? "" : " < ") + call_text(stack[i], i == of.first);
    }
    return out;
}

stack_record shown_calls(const stack_record& stack)
{
    const part of = shown_part(stack);
    return {
        stack.begin() + static_cast<std::ptrdiff_t>(of.first),
        stack.begin() + static_cast<std::ptrdiff_t>(of.end)
    };
}

std::string call_name(const place_record& place)
{
    return place.function.empty() ? last_part(place_text(place)) : short_name(place.function);
}

}  // namespace tool
