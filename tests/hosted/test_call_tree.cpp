// SPDX-License-Identifier: MIT
// The tree of calls that stacks are in.
extern "C" {
#include "stacks/call_tree.h"
}

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <random>

namespace
{

struct freeing {
    void* memory = nullptr;

    void operator()(egb_call_tree*) const
    {
        std::free(memory);
    }
};

using tree_pointer = std::unique_ptr<egb_call_tree, freeing>;

// calloc() touches no page of so much memory, and does not align it to a line.
tree_pointer make_tree(std::uint32_t nodes = EGB_CALL_NODES)
{
    const std::size_t whole  = egb_call_tree_bytes_(nodes);
    std::size_t       bytes  = whole + alignof(egb_call_tree);
    void* const       memory = std::calloc(1, bytes);
    void*             place  = memory;
    void* const       tree   = std::align(alignof(egb_call_tree), whole, place, bytes);
    return tree_pointer(static_cast<egb_call_tree*>(tree), freeing{memory});
}

const void* address(std::uintptr_t number)
{
    return reinterpret_cast<const void*>(number);
}

}  // namespace

TEST(call_tree, has_each_call_once)
{
    const tree_pointer  tree  = make_tree();
    const std::uint32_t outer = egb_call_tree_find_(tree.get(), 0, address(1000));
    const std::uint32_t inner = egb_call_tree_find_(tree.get(), outer, address(1000));
    ASSERT_NE(outer, 0u);
    ASSERT_NE(inner, 0u);
    EXPECT_NE(outer, inner);
    EXPECT_EQ(egb_call_tree_find_(tree.get(), 0, address(1000)), outer);
    EXPECT_EQ(egb_call_tree_find_(tree.get(), outer, address(1000)), inner);
    EXPECT_EQ(tree->used, 2u);
}

// One call in as many calls as there are lines of heads.
TEST(call_tree, spreads_the_calls_over_its_heads)
{
    constexpr std::uint32_t calls = EGB_CALL_HEADS / 16;
    const tree_pointer      tree  = make_tree();
    for (std::uint32_t parent = 1; parent <= calls; parent++) {
        (void)egb_call_tree_find_(tree.get(), parent, address(1000));
    }
    std::uint32_t used = 0;
    for (const std::uint32_t head : tree->heads) {
        used += head != 0 ? 1u : 0u;
    }
    EXPECT_GT(used, calls / 2);
}

TEST(call_tree, reads_a_stack_from_its_site)
{
    const tree_pointer tree = make_tree();
    std::uint32_t      node = 0;
    for (std::uintptr_t i = 1; i <= 20; i++) {
        node = egb_call_tree_find_(tree.get(), node, address(i));
    }
    EXPECT_FALSE(egb_call_tree_has_(tree.get(), &tree->nodes[node]));  // not yet a site
    const void* const site = egb_call_tree_mark_(tree.get(), node);
    EXPECT_TRUE(egb_call_tree_has_(tree.get(), site));
    EXPECT_FALSE(egb_call_tree_has_(tree.get(), static_cast<const char*>(site) + 4));
    EXPECT_FALSE(egb_call_tree_has_(tree.get(), tree->nodes + EGB_CALL_NODES));
    EXPECT_EQ(egb_call_tree_find_(tree.get(), node, address(21)), node + 1);
    const void* calls[32] = {};
    ASSERT_EQ(egb_call_tree_read_(tree.get(), site, calls, 32), 20u);
    for (std::uintptr_t i = 0; i < 20; i++) {
        EXPECT_EQ(calls[i], address(20 - i));
    }
    EXPECT_EQ(egb_call_tree_read_(tree.get(), site, nullptr, 512), 20u);
    EXPECT_EQ(egb_call_tree_read_(tree.get(), site, calls, 3), 3u);
}

TEST(call_tree, finds_what_it_has_when_it_is_full)
{
    const tree_pointer  tree  = make_tree();
    const std::uint32_t first = egb_call_tree_find_(tree.get(), 0, address(1));
    tree->used                = EGB_CALL_NODES - 3;
    EXPECT_NE(egb_call_tree_find_(tree.get(), 0, address(2)), 0u);
    EXPECT_FALSE(egb_call_tree_is_full_(tree.get()));
    EXPECT_NE(egb_call_tree_find_(tree.get(), 0, address(3)), 0u);
    EXPECT_TRUE(egb_call_tree_is_full_(tree.get()));
    for (int i = 0; i < 3; i++) {
        EXPECT_EQ(egb_call_tree_find_(tree.get(), 0, address(4)), 0u);
    }
    EXPECT_EQ(tree->used, EGB_CALL_NODES - 1u);
    EXPECT_EQ(egb_call_tree_find_(tree.get(), 0, address(1)), first);
}

TEST(call_tree, ends_where_it_was_cut)
{
    constexpr std::uint32_t nodes = 1024;
    const tree_pointer      tree  = make_tree(nodes);
    egb_call_trees_cut_(nodes);
    std::uint32_t count = 0;
    while (count < 2 * nodes && egb_call_tree_find_(tree.get(), count, address(7)) != 0) {
        count++;
    }
    EXPECT_EQ(count, nodes - 1);
    EXPECT_TRUE(egb_call_tree_is_full_(tree.get()));
    const void* const last = egb_call_tree_mark_(tree.get(), nodes - 1);
    EXPECT_TRUE(egb_call_tree_has_(tree.get(), last));
    EXPECT_FALSE(egb_call_tree_has_(tree.get(), tree->nodes + nodes));
    tree->nodes[nodes - 1].parent |= 70 * nodes;  // written over
    const void* calls[64];
    EXPECT_LE(egb_call_tree_read_(tree.get(), last, calls, 64), 64u);
    egb_call_trees_cut_(EGB_CALL_NODES);
}

// A list that leads into itself, a parent that is its own, and numbers of no node.
TEST(call_tree, comes_to_an_end_when_it_was_written_over)
{
    const tree_pointer  tree = make_tree();
    const std::uint32_t node = egb_call_tree_find_(tree.get(), 0, address(1));
    const void* const   site = egb_call_tree_mark_(tree.get(), node);
    tree->nodes[node].next   = node;
    tree->nodes[node].parent |= node;
    const void* calls[64];
    EXPECT_EQ(egb_call_tree_read_(tree.get(), site, calls, 64), 64u);
    std::mt19937 chance(1);
    for (std::uint32_t i = 0; i < 5000; i++) {
        (void)egb_call_tree_find_(tree.get(), i / 4, address(i));
        const std::uint32_t words[] = {
            static_cast<std::uint32_t>(chance()), static_cast<std::uint32_t>(chance())
        };
        std::memcpy(&tree->nodes[i].parent, words, sizeof words);
        tree->heads[chance() % EGB_CALL_HEADS] = static_cast<std::uint32_t>(chance());
    }
    for (std::uint32_t i = 0; i < 5000; i++) {
        (void)egb_call_tree_find_(tree.get(), i / 4, address(i));
        EXPECT_LE(egb_call_tree_read_(tree.get(), &tree->nodes[i], calls, 64), 64u);
    }
}
