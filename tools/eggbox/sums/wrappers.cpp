// SPDX-License-Identifier: MIT
#include "sums/wrappers.hpp"

#include "sums/stacks.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

namespace tool
{
namespace
{

// Fewer are enough if the name speaks for it.
struct limits {
    std::size_t callers;
    std::size_t sizes;
};
constexpr limits      by_position{8, 4};
constexpr limits      by_position_and_name{3, 2};
constexpr std::size_t lines_max  = 2;
constexpr std::size_t levels_max = 4;  // wrappers of wrappers

// Facts about a function from the stacks that contain it.
struct evidence {
    std::set<std::string>                           callers;
    std::set<std::uint64_t>                         sizes;
    std::set<std::pair<std::uint64_t, std::string>> lines;
    bool                                            is_elsewhere = false;
};

using functions = std::map<std::string, evidence>;

std::string key_of(const place_record& place)
{
    return place.function.empty() ? "" : place.module + "\n" + place.function;
}

// Its callers, if it has some, are those of a program that calls itself.
bool is_main(const std::string& key)
{
    return key.substr(key.find('\n') + 1) == "main";
}

bool has_hint(const std::string& key)
{
    static constexpr std::array hints = {
        "alloc", "Alloc", "mem", "Mem", "buf", "Buf", "dup", "grow"
    };
    const std::string name = key.substr(key.find('\n') + 1);
    return std::any_of(hints.begin(), hints.end(), [&](const char* hint) {
        return name.find(hint) != std::string::npos;
    });
}

std::size_t first_after(const stack_record& stack, const std::set<std::string>& wrappers)
{
    std::size_t first = 0;
    while (first < stack.size() &&
           (only_allocates(stack[first]) || wrappers.count(key_of(stack[first])) != 0)) {
        first++;
    }
    return first;
}

// The sizes of samples are scaled, so they are no evidence.
void look_at(functions& seen, const leak_record& leak, const std::set<std::string>& wrappers)
{
    const stack_record& stack = leak.stack;
    const std::size_t   first = first_after(stack, wrappers);
    for (std::size_t i = first + 1; i < stack.size(); i++) {
        seen[key_of(stack[i])].is_elsewhere = true;
    }
    if (first + 1 >= stack.size() || only_starts(stack[first + 1]) || leak.blocks == 0 ||
        leak.samples != 0) {
        return;
    }
    const place_record& front = stack[first];
    evidence&           of    = seen[key_of(front)];
    of.callers.insert(key_of(stack[first + 1]));
    of.sizes.insert(leak.bytes / leak.blocks);
    of.lines.emplace(front.line != 0 ? front.line : front.offset, front.file);
}

bool is_wrapper(const std::string& key, const evidence& of)
{
    const limits& least = has_hint(key) ? by_position_and_name : by_position;
    return !key.empty() && !is_main(key) && !of.is_elsewhere && of.lines.size() <= lines_max &&
           of.callers.size() >= least.callers && of.sizes.size() >= least.sizes;
}

template <class visitor>
void for_each_leak(const std::vector<run_record>& runs, const visitor& visit)
{
    for (const run_record& run : runs) {
        for (const process_record& process : run.processes) {
            std::for_each(process.leaks.begin(), process.leaks.end(), visit);
        }
    }
}

// Changes the places in all stacks, those of misuse as well.
template <class change>
void change_places(std::vector<run_record>& runs, const change& each_place)
{
    const auto in = [&](stack_record& stack) {
        std::for_each(stack.begin(), stack.end(), each_place);
    };
    for (run_record& run : runs) {
        for (process_record& process : run.processes) {
            for (std::vector<leak_record>* const sites : {&process.leaks, &process.allocated}) {
                for (leak_record& each : *sites) {
                    in(each.stack);
                }
            }
            for (event_record& event : process.events) {
                in(event.stack);
                in(event.alloc_stack);
                in(event.free_stack);
            }
        }
    }
}

}  // namespace

std::set<std::string> wrappers_in(const std::vector<run_record>& runs)
{
    std::set<std::string> wrappers;
    for (std::size_t level = 0; level < levels_max; level++) {
        const std::size_t before = wrappers.size();
        functions         seen;
        for_each_leak(runs, [&](const leak_record& leak) { look_at(seen, leak, wrappers); });
        for (const auto& [key, of] : seen) {
            if (is_wrapper(key, of)) {
                wrappers.insert(key);
            }
        }
        if (wrappers.size() == before) {
            break;
        }
    }
    return wrappers;
}

void fold_wrappers(std::vector<run_record>& runs, const std::set<std::string>& wrappers)
{
    change_places(runs, [&](place_record& place) {
        place.fold = wrappers.count(key_of(place)) != 0 ? folding::always : folding::by_name;
    });
}

void unfold_wrappers(std::vector<run_record>& runs)
{
    change_places(runs, [](place_record& place) { place.fold = folding::never; });
}

}  // namespace tool
