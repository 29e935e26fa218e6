// SPDX-License-Identifier: MIT
// eggbox::allocator: in containers of every kind, of both heaps, promise by promise.
#include "events.hpp"

#include "eggbox/allocator.hpp"

#include <cstdint>
#include <deque>
#include <forward_list>
#include <list>
#include <map>
#include <memory>
#include <queue>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace
{

using eggbox::allocator;
using eggbox::heap;

template <class T>
using list = std::list<T, allocator<T>>;

template <class T>
using vector = std::vector<T, allocator<T>>;

using text = std::basic_string<char, std::char_traits<char>, allocator<char>>;

template <class K, class V>
using map = std::map<K, V, std::less<K>, allocator<std::pair<const K, V>>>;

template <class K, class V>
using unordered_map =
    std::unordered_map<K, V, std::hash<K>, std::equal_to<K>, allocator<std::pair<const K, V>>>;

template <class T>
using set = std::set<T, std::less<T>, allocator<T>>;

struct alignas(64) wide {
    int value = 0;
};

struct alignas(131072) wider_than_a_page {
    int value = 0;
};

template <class T>
bool is_aligned(const T& object)
{
    return reinterpret_cast<std::uintptr_t>(&object) % alignof(T) == 0;
}

// Throws when the third one is made.
struct third_throws {
    third_throws()
    {
        if (++made == 3) {
            throw std::runtime_error("third");
        }
    }

    static int made;
    char       bytes[40] = {};
};

int third_throws::made = 0;

egb_pool_options with_budget(std::size_t bytes)
{
    egb_pool_options options{};
    options.budget_bytes = bytes;
    return options;
}

// Blocks in use of the process's heap.
std::size_t in_use()
{
    egb_pool_stats stats{};
    egb_heap_stats large{};
    EXPECT_EQ(egb_heap_get_stats(&large), EGB_OK);
    EXPECT_EQ(egb_pool_get_subtree_stats(egb_heap_pool(), &stats), EGB_OK);
    return stats.in_use + large.large_in_use;
}

// Fills one of each kind, and empties half of those that are made of nodes.
template <class Make>
void use_containers(Make make)
{
    auto numbers = make(vector<int>());
    auto queue   = make(std::deque<int, allocator<int>>());
    auto chain   = make(std::forward_list<int, allocator<int>>());
    auto lines   = make(list<text>());
    auto names   = make(map<int, text>());
    auto hashed  = make(unordered_map<int, int>());
    auto sorted  = make(set<int>());
    auto bits    = make(vector<bool>());
    for (int i = 0; i < 5000; i++) {
        numbers.push_back(i);
        queue.push_front(i);
        chain.push_front(i);
        lines.emplace_back(static_cast<std::size_t>(i % 100), 'x', chain.get_allocator());
        names.emplace(
            i * 7919 % 5000, text("0123456789012345678901234567890", chain.get_allocator())
        );
        hashed[i] = i;
        sorted.insert(i * 7919 % 5000);
        bits.push_back(i % 3 == 0);
    }
    for (int i = 0; i < 5000; i += 2) {
        EXPECT_EQ(names.erase(i), 1u);
        EXPECT_EQ(hashed.erase(i), 1u);
        EXPECT_EQ(sorted.erase(i), 1u);
    }
    long sum = 0;
    for (const auto& [key, value] : hashed) {
        sum += key == value ? key : -1000000;
    }
    for (const int each : sorted) {
        sum += each + static_cast<int>(names.at(each).size());
    }
    EXPECT_EQ(sum, 2 * 6250000L + 2500 * 31);
    EXPECT_EQ(numbers[4999] + queue[0] + chain.front(), 3 * 4999);
    EXPECT_TRUE(bits[3] && !bits[4]);
}

TEST(Allocator, ServesContainersOfEveryKindFromTheHeapOfTheProcess)
{
    const events      quiet;
    const std::size_t before = in_use();
    use_containers([](auto container) { return container; });
    EXPECT_EQ(in_use(), before);
}

TEST(Allocator, ServesContainersOfEveryKindFromAHeapOfOnesOwn)
{
    const events      quiet;
    const std::size_t before = in_use();
    heap              own;
    ASSERT_EQ(own.status(), EGB_OK);
    use_containers([&own](auto container) {
        return decltype(container)(container, typename decltype(container)::allocator_type(own));
    });
    EXPECT_EQ(own.stats().in_use, 0u);
    EXPECT_GT(own.stats().allocations, 20000u);
    EXPECT_EQ(in_use(), before);
}

TEST(Allocator, TakesWhatItServesFromItsHeap)
{
    heap      own;
    list<int> numbers(own);
    numbers.assign(10, 4);
    EXPECT_EQ(own.stats().in_use, 10u);
    EXPECT_TRUE(own.owns(&numbers.front()));
    EXPECT_EQ(numbers.get_allocator().get_heap(), &own);
    const list<int> others(10, 4);
    EXPECT_FALSE(own.owns(&others.front()));
    EXPECT_TRUE(egb_pool_is_ancestor(egb_heap_pool(), egb_pool_of(&others.front())));
}

TEST(Allocator, AlignsObjectsAsTheyWant)
{
    heap own;
    for (const allocator<wide>& of : {allocator<wide>(), allocator<wide>(own)}) {
        using page = std::vector<wider_than_a_page, allocator<wider_than_a_page>>;
        std::list<page>                                              lone;
        std::list<wide, allocator<wide>>                             one(5, wide{}, of);
        std::vector<wide, allocator<wide>>                           many(100, wide{}, of);
        std::vector<wider_than_a_page, allocator<wider_than_a_page>> pages(3, {}, of);
        for (const wide& each : one) {
            EXPECT_TRUE(is_aligned(each));
        }
        for (int i = 0; i < 5; i++) {
            lone.emplace_front(of).push_back({});
            EXPECT_TRUE(is_aligned(lone.front()[0]));
        }
        EXPECT_TRUE(is_aligned(many[0]) && is_aligned(pages[0]));
        EXPECT_EQ(own.owns(&pages[0]), of.get_heap() != nullptr);
    }
    EXPECT_EQ(own.stats().in_use, 0u);
}

TEST(Allocator, ComparesByItsHeap)
{
    heap                 one, other;
    const allocator<int> none, a(one), b(other);
    EXPECT_TRUE(none == allocator<char>() && a == allocator<char>(one) && a == allocator<int>(a));
    EXPECT_TRUE(a != b && a != none && b != allocator<char>(one));
    EXPECT_FALSE(a == b || none != allocator<double>());
    EXPECT_FALSE(std::allocator_traits<allocator<int>>::is_always_equal::value);
    EXPECT_TRUE(
        (std::is_same_v<std::allocator_traits<allocator<int>>::rebind_alloc<wide>, allocator<wide>>)
    );
}

TEST(Allocator, GoesAlongWhenAContainerIsMovedOrSwapped)
{
    heap             one, other;
    list<int>        a({1, 2, 3}, one), b({4}, other);
    const int* const first = &a.front();
    a.swap(b);
    EXPECT_EQ(&b.front(), first);
    EXPECT_TRUE(
        a.get_allocator() == allocator<int>(other) && b.get_allocator() == allocator<int>(one)
    );
    a = std::move(b);
    EXPECT_EQ(&a.front(), first);
    EXPECT_TRUE(a.get_allocator() == allocator<int>(one));
    EXPECT_EQ(other.stats().in_use, 0u);
}

TEST(Allocator, StaysWhenAContainerIsAssignedACopy)
{
    heap        one, other;
    vector<int> a({1, 2, 3}, one);
    vector<int> b({4}, other);
    b = a;
    EXPECT_TRUE(b.get_allocator() == allocator<int>(other) && b == a);
    const vector<int> copy(a);
    EXPECT_TRUE(copy.get_allocator() == allocator<int>(one));
    const vector<int> elsewhere(std::move(a), other);  // another heap: its elements are moved
    EXPECT_TRUE(other.owns(elsewhere.data()) && elsewhere == b);
}

TEST(Allocator, ThrowsWhenTheBudgetIsUsedUpAndServesAgainAfterwards)
{
    heap      small(with_budget(1 << 20));
    list<int> numbers(small);
    EXPECT_THROW(for (;;) { numbers.push_back(1); }, std::bad_alloc);
    EXPECT_GT(numbers.size(), 10000u);
    EXPECT_LE(small.stats().bytes_held, 1u << 20);
    EXPECT_THROW((void)vector<char>(2 << 20, 'x', small), std::bad_alloc);
    numbers.clear();
    numbers.push_back(1);
    EXPECT_EQ(small.stats().in_use, 1u);
}

TEST(Allocator, ThrowsWhenThereAreNoSuchAddresses)
{
    heap own;
    for (allocator<wide> of : {allocator<wide>(), allocator<wide>(own)}) {
        EXPECT_THROW((void)of.allocate(SIZE_MAX / sizeof(wide) + 2), std::bad_array_new_length);
        EXPECT_THROW((void)of.allocate(SIZE_MAX / 2 / sizeof(wide)), std::bad_alloc);
    }
}

TEST(Allocator, LosesNothingWhenAConstructorThrows)
{
    heap own;
    for (const allocator<third_throws>& of :
         {allocator<third_throws>(), allocator<third_throws>(own)}) {
        const std::size_t                                before = in_use() + own.stats().in_use;
        std::list<third_throws, allocator<third_throws>> some(of);
        third_throws::made = 0;
        some.emplace_back();
        some.emplace_back();
        EXPECT_THROW(some.emplace_back(), std::runtime_error);
        EXPECT_EQ(in_use() + own.stats().in_use, before + 2);
    }
}

TEST(Allocator, SaysForHowManyThereIsRoom)
{
    heap own;
    for (allocator<int> of : {allocator<int>(), allocator<int>(own)}) {
        for (const std::size_t wanted : {1u, 2u, 33u, 100u, 10000u, 70000u, 1000000u}) {
            const auto got = of.allocate_at_least(wanted);
            ASSERT_GE(got.count, wanted);
            EXPECT_LE(got.count, wanted + wanted / 7 + 65536);
            EXPECT_GE(egb_block_bytes(got.ptr), got.count * sizeof(int));
            got.ptr[got.count - 1] = 1;
            of.deallocate(got.ptr, wanted + (got.count - wanted) / 2);
        }
    }
    allocator<wider_than_a_page> wider(own);
    const auto                   page = wider.allocate_at_least(1);
    EXPECT_EQ(page.count, 1u);
    wider.deallocate(page.ptr, page.count);
    EXPECT_EQ(own.stats().in_use, 0u);
}

TEST(Allocator, TellsOfAContainerThatGivesBackTwice)
{
    events         seen;
    heap           own;
    allocator<int> of(own), process;
    int* const     one = of.allocate(1);
    of.deallocate(one, 1);
    of.deallocate(one, 1);
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_DOUBLE_FREE);
    int* const other = process.allocate(1);
    of.deallocate(other, 1);
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_WRONG_POOL);
    process.deallocate(other, 1);
}

TEST(Allocator, MayBeFreedByAnotherThread)
{
    const events quiet;
    heap         own;
    for (int round = 0; round < 20; round++) {
        list<int> numbers(own);
        std::thread([&numbers] { numbers.assign(1000, 1); }).join();
        numbers.push_back(2);
        std::thread([moved = std::move(numbers)]() mutable { moved.clear(); }).join();
    }
    EXPECT_EQ(own.stats().in_use, 0u);
}

TEST(SmartPointers, AreOfTheHeapAndOnePointerWide)
{
    const std::size_t before = in_use();
    {
        const auto one = eggbox::make_unique<text>("a text that is too long for the string itself");
        const eggbox::heap_ptr<const wide> two = eggbox::make_unique<wide>();
        EXPECT_EQ(sizeof one, sizeof(void*));
        EXPECT_TRUE(is_aligned(*two));
        EXPECT_EQ(in_use(), before + 3);
        const std::shared_ptr<wide> shared = eggbox::make_shared<wide>();
        EXPECT_TRUE(is_aligned(*shared));
        EXPECT_EQ(in_use(), before + 4);
        heap                       own;
        const std::shared_ptr<int> other = eggbox::make_shared_in<int>(own, 4);
        EXPECT_TRUE(own.owns(other.get()) && *other == 4);
        const std::shared_ptr<const int> fixed     = eggbox::make_shared<const int>(5);
        const std::shared_ptr<const int> own_fixed = eggbox::make_shared_in<const int>(own, 6);
        EXPECT_TRUE(*fixed == 5 && *own_fixed == 6 && own.owns(own_fixed.get()));
    }
    EXPECT_EQ(in_use(), before);
    third_throws::made = 2;
    EXPECT_THROW((void)eggbox::make_unique<third_throws>(), std::runtime_error);
    EXPECT_EQ(in_use(), before);
}

}  // namespace
