// SPDX-License-Identifier: MIT
// Parts of C++ programs: strings and containers.
#include "heap.hpp"

#include <list>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace
{

using namespace heap_bench;

std::string text_of(std::uint64_t number, std::size_t bytes)
{
    std::string text = std::to_string(number);
    while (text.size() < bytes) {
        text += text;
    }
    text.resize(bytes);
    return text;
}

struct tree {
    std::unique_ptr<tree> left;
    std::unique_ptr<tree> right;

    std::uint64_t count() const
    {
        return 1 + (left == nullptr ? 0 : left->count() + right->count());
    }
};

std::unique_ptr<tree> tree_of(std::size_t depth)
{
    auto made = std::make_unique<tree>();
    if (depth > 0) {
        made->left  = tree_of(depth - 1);
        made->right = tree_of(depth - 1);
    }
    return made;
}

}  // namespace

// Lines of text that are made, split, joined and dropped.
std::uint64_t heap_bench::strings(scale size)
{
    random_numbers random(7);
    std::uint64_t  sum = 0;
    for (std::size_t round = 0; round < size.of(40); round++) {
        std::vector<std::string> lines;
        for (std::size_t i = 0; i < 20000; i++) {
            lines.push_back(text_of(random.next(), 8 + random.below(120)));
        }
        std::string all;
        for (const std::string& line : lines) {
            all += line.substr(line.size() / 2) + ", " + line.substr(0, line.size() / 3);
        }
        sum += all.size();
    }
    return sum;
}

std::uint64_t heap_bench::dictionary(scale size)
{
    random_numbers random(11);
    std::uint64_t  sum = 0;
    for (std::size_t round = 0; round < 3; round++) {
        std::unordered_map<std::string, std::string> all;
        for (std::size_t i = 0; i < size.of(150000); i++) {
            const std::uint64_t number             = random.below(size.of(120000));
            all[text_of(number, 10 + number % 30)] = text_of(i, 5 + random.below(60));
        }
        for (std::size_t i = 0; i < size.of(150000); i++) {
            const std::uint64_t number = random.below(size.of(120000));
            if (i % 2 == 0) {
                sum += all.erase(text_of(number, 10 + number % 30));
            } else {
                sum += all.count(text_of(number, 10 + number % 30));
            }
        }
        sum += all.size();
    }
    return sum;
}

std::uint64_t heap_bench::ordered_map(scale size)
{
    random_numbers                         random(13);
    std::map<std::uint64_t, std::uint64_t> all;
    std::uint64_t                          sum = 0;
    for (std::size_t i = 0; i < size.of(1000000); i++) {
        const std::uint64_t key = random.below(size.of(400000));
        if (!all.try_emplace(key, i).second) {
            all.erase(key);
        }
        sum += all.size();
    }
    return sum;
}

// Half of a list goes while it is walked, and as much comes at its end, over and over: a program's
// objects under a collector. The speed of the walk depends on the addresses of the new ones.
std::uint64_t heap_bench::swept_list(scale size)
{
    random_numbers           random(17);
    std::list<std::uint64_t> all;
    std::uint64_t            sum = 0;
    for (std::size_t round = 0; round < size.of(30); round++) {
        while (all.size() < size.of(300000)) {
            all.push_back(random.next());
        }
        all.remove_if([&](std::uint64_t number) {
            sum += number & 0xff;
            return random.below(2) == 0;
        });
    }
    return sum;
}

// As in the Computer Language Benchmarks Game: many short-lived trees beside one that stays.
std::uint64_t heap_bench::binary_trees(scale size)
{
    constexpr std::size_t depth_most = 17;
    const auto            stays      = tree_of(size.smoke ? 8 : depth_most);
    std::uint64_t         sum        = stays->count();
    for (std::size_t depth = 4; depth <= depth_most; depth += 4) {
        const std::size_t count = size.of(std::size_t{1} << (depth_most - depth + 4));
        for (std::size_t i = 0; i < count; i++) {
            sum += tree_of(depth)->count();
        }
    }
    return sum;
}
