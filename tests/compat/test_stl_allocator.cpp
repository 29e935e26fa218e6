// SPDX-License-Identifier: MIT
// stl_allocator and the x-containers: what the originals promised, row by row, and what used to
// happen and does not.
#include "stl_allocator.h"
#include "xlist.h"
#include "xmap.h"
#include "xqueue.h"
#include "xset.h"
#include "xsstream.h"
#include "xstring.h"

#include "events.hpp"

#include "stl_allocator_deprecated.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <type_traits>
#include <unordered_map>
#include <vector>

namespace
{

std::string stats()
{
    testing::internal::CaptureStdout();
    xalloc_stats();
    return testing::internal::GetCapturedStdout();
}

template <class T>
bool is_aligned(const T& object)
{
    return reinterpret_cast<std::uintptr_t>(&object) % alignof(T) == 0;
}

struct alignas(64) line {
    int number;
};

template <class K, class V>
std::size_t size_of(const xmap<K, V>& map)
{
    return map.size();
}

}  // namespace

TEST(stl_allocator, S01_the_members_of_the_class)
{
    using allocator = stl_allocator<int>;
    static_assert(std::is_same_v<allocator::rebind<char>::other, stl_allocator<char>>);
    static_assert(std::is_same_v<stl_allocator<void>::rebind<int>::other, allocator>);
    static_assert(std::is_same_v<allocator::pointer, int*>);
    static_assert(std::is_same_v<allocator::const_reference, const int&>);
    static_assert(std::is_same_v<allocator::size_type, std::size_t>);
    static_assert(std::is_void_v<stl_allocator<void>::value_type>);
    static_assert(std::is_empty_v<allocator>);
    allocator                   one;
    const stl_allocator<double> other(one);
    EXPECT_TRUE(one == other);
    EXPECT_FALSE(one != other);
    int* const numbers = one.allocate(10, nullptr);
    for (int i = 0; i < 10; i++) {
        numbers[i] = i;
    }
    one.deallocate(numbers, 10);
    xfree(one.allocate(1));
    one.deallocate(static_cast<int*>(xmalloc(4)), 1);
}

TEST(stl_allocator, S02_the_containers_are_those_of_the_library)
{
    xlist<int>                      list = {3, 1, 2};
    xmap<int, xstring>              map;
    xmultimap<int, char>            multimap;
    xset<xstring>                   set;
    xmultiset<int>                  multiset = {1, 1, 2};
    xqueue<int>                     queue;
    xlist<int, std::allocator<int>> of_another = {1};
    static_assert(std::is_same_v<xlist<int>, std::list<int, stl_allocator<int>>>);
    list.sort();
    map[1] = "one";
    multimap.insert({1, 'a'});
    multimap.insert({1, 'b'});
    set.insert("hello");
    for (int i = 0; i < 10000; i++) {
        queue.push(i);
        map[i] = "a string that is too long for the string itself";
    }
    EXPECT_EQ(list.front() + static_cast<int>(of_another.size()), 2);
    EXPECT_EQ(multimap.count(1), 2u);
    EXPECT_EQ(multiset.count(1), 2u);
    EXPECT_EQ(set.count("hello"), 1u);
    EXPECT_EQ(queue.back(), 9999);
    EXPECT_EQ(size_of(map), 10000u);
}

TEST(stl_allocator, S03_strings_and_streams)
{
    xstring  text  = "some text, longer than fits in the string";
    xwstring wide  = L"some text, longer than fits in the string";
    xstring  again = text + text;
    wide += wide;
    EXPECT_EQ(again.size(), wide.size());
    xstringstream   stream;
    xostringstream  out;
    xwstringstream  wide_stream;
    xwostringstream wide_out;
    stream << "hello " << 2016;
    out << 1 << text;
    wide_stream << L"hello " << 2016;
    wide_out << 1;
    EXPECT_EQ(stream.str(), "hello 2016");
    EXPECT_EQ(wide_stream.str(), L"hello 2016");
    EXPECT_EQ(out.str().size(), text.size() + 1);
    EXPECT_EQ(wide_out.str(), L"1");
}

TEST(stl_allocator, S04_what_older_programs_call_by_name)
{
    stl_allocator<std::string> allocator;
    std::string* const         one = allocator.allocate(1);
    allocator.construct(one, std::string("text"));
    EXPECT_EQ(allocator.address(*one), one);
    EXPECT_EQ(*one, "text");
    allocator.destroy(one);
    allocator.construct(one);
    EXPECT_TRUE(one->empty());
    allocator.destroy(one);
    allocator.deallocate(one, 1);
    EXPECT_GE(allocator.max_size(), std::size_t{1} << 24);
}

TEST(stl_allocator, nodes_count_in_the_numbers_of_xallocator)
{
    xalloc_destroy();
    {
        xlist<int> list;
        for (int i = 0; i < 10000; i++) {
            list.push_back(i);
        }
        EXPECT_NE(stats().find("Block Count: 10000 Blocks In Use: 10000"), std::string::npos);
        list.clear();
        EXPECT_NE(stats().find("Block Count: 10000 Blocks In Use: 0"), std::string::npos);
        list.push_back(1);
        EXPECT_NE(stats().find("Block Count: 10000 Blocks In Use: 1"), std::string::npos);
    }
    xalloc_destroy();
    EXPECT_EQ(stats().find("Block Count: 10000"), std::string::npos);
}

TEST(stl_allocator, containers_go_from_thread_to_thread)
{
    xalloc_destroy();
    for (int round = 0; round < 20; round++) {
        xlist<int>         list;
        xmap<int, xstring> map;
        std::thread([&list, &map] {
            xlist<int> own;
            for (int i = 0; i < 5000; i++) {
                list.push_back(i);
                own.push_back(i);
                map[i] = "a string that is too long for the string itself";
            }
        }).join();
        EXPECT_EQ(list.size() + map.size(), 10000u);
    }
    EXPECT_EQ(stats().find("In Use: 5000"), std::string::npos);  // ended threads keep nothing
}

TEST(stl_allocator, containers_of_two_threads_at_once)
{
    const auto use = [] {
        for (int round = 0; round < 20; round++) {
            xmap<int, int> map;
            for (int i = 0; i < 1000; i++) {
                map[i] = i;
            }
            ASSERT_EQ(map.at(999), 999);
        }
    };
    std::thread one(use);
    std::thread two(use);
    one.join();
    two.join();
}

// ---- what used to happen ------------------------------------------------------------------------

TEST(stl_allocator, SB_1_containers_asked_the_base_class_for_memory)
{
    static_assert(!std::is_base_of_v<std::allocator<int>, stl_allocator<int>>);
    xmap<int, int>                       map;
    std::vector<int, stl_allocator<int>> vector(1000, 1);
    std::unordered_map<
        int,
        int,
        std::hash<int>,
        std::equal_to<int>,
        stl_allocator<std::pair<const int, int>>>
        hashed;
    for (int i = 0; i < 1000; i++) {
        map[i] = hashed[i] = i;
        vector.push_back(i);
        EXPECT_TRUE(egb_pool_of(&map[i]).generation != 0);
    }
}

TEST(stl_allocator, SB_2_a_map_had_no_comparator)
{
    xmap<int, int, std::greater<int>>                                     down = {{1, 1}, {2, 2}};
    xmap<int, int, stl_allocator<std::pair<const int, int>>>              old  = {{1, 1}, {2, 2}};
    xmap<int, int, std::less<>, stl_allocator<std::pair<const int, int>>> both = {{1, 1}};
    xmultimap<int, int, std::greater<int>>                                many = {{1, 1}, {2, 2}};
    static_assert(std::is_same_v<decltype(old), xmap<int, int>>);
    EXPECT_EQ(down.begin()->first, 2);
    EXPECT_EQ(old.begin()->first, 1);
    EXPECT_EQ(both.begin()->first, 1);
    EXPECT_EQ(many.begin()->first, 2);
}

TEST(stl_allocator, SB_3_comparing_allocators_copied_one)
{
    struct other : stl_allocator<int> {
        other()                        = default;
        other(const other&)            = delete;
        other& operator=(const other&) = delete;
    };
    const other               one;
    const stl_allocator<int>& two = one;
    EXPECT_TRUE(one == two && !(one != two));
}

TEST(stl_allocator, XB_1_long_double_and_wider_types_were_misaligned)
{
    xlist<long double>     list;
    xlist<line>            lines;
    xmap<int, long double> map;
    for (int i = 0; i < 100; i++) {
        list.push_back(i);
        lines.push_back({i});
        map[i] = i;
        EXPECT_TRUE(is_aligned(list.back()) && is_aligned(lines.back()) && is_aligned(map[i]));
    }
}

TEST(stl_allocator, XB_2_the_product_of_count_and_size_was_not_checked)
{
    stl_allocator<double> allocator;
    EXPECT_THROW((void)allocator.allocate(SIZE_MAX / 8 + 2), std::bad_alloc);
    EXPECT_THROW((void)allocator.allocate(PTRDIFF_MAX / 8), std::bad_alloc);
}
