// SPDX-License-Identifier: MIT
// eggbox::pooled_frame: frames of coroutines, which only C++20 has.
#include "events.hpp"

#include "eggbox/pooled.hpp"

#include <coroutine>
#include <cstddef>
#include <exception>
#include <utility>

namespace
{

// Counts on request. If `Base` never throws, a coroutine without a frame is an empty one.
template <template <class> class Base>
class counter
{
  public:
    struct promise_type : Base<counter> {
        int value = 0;

        counter get_return_object()
        {
            return counter(std::coroutine_handle<promise_type>::from_promise(*this));
        }

        std::suspend_always initial_suspend() noexcept
        {
            return {};
        }

        std::suspend_always final_suspend() noexcept
        {
            return {};
        }

        std::suspend_always yield_value(int number)
        {
            value = number;
            return {};
        }

        void return_void() {}

        void unhandled_exception()
        {
            std::terminate();
        }
    };

    explicit counter(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
    counter(const counter&)            = delete;
    counter& operator=(const counter&) = delete;

    ~counter()
    {
        if (handle_) {
            handle_.destroy();
        }
    }

    int next()
    {
        handle_.resume();
        return handle_.promise().value;
    }

    [[nodiscard]] void* frame() const
    {
        return handle_.address();
    }

  private:
    std::coroutine_handle<promise_type> handle_;
};

// The same without room for frames, or with.
bool is_full = false;

template <class Counter>
struct sometimes_full : eggbox::pooled_frame_nothrow {
    static void* operator new(std::size_t bytes) noexcept
    {
        return is_full ? nullptr : pooled_frame_nothrow::operator new(bytes);
    }

    static void operator delete(void* frame)
    {
        pooled_frame_nothrow::operator delete(frame);
    }

    static Counter get_return_object_on_allocation_failure()
    {
        return Counter(nullptr);
    }
};

template <class Counter>
struct never_full : eggbox::pooled_frame {
};

template <template <class> class Base>
counter<Base> count_from(int number)
{
    for (;;) {
        co_yield number++;
    }
}

template <template <class> class Base>
void count_a_little()
{
    const events   quiet;
    egb_pool_stats before{};
    EXPECT_EQ(egb_pool_get_subtree_stats(egb_heap_pool(), &before), EGB_OK);
    // A compiler that sees which coroutine this is may put its frame on the stack.
    counter<Base> (*volatile count)(int) = count_from<Base>;
    for (int round = 0; round < 3; round++) {
        counter<Base> numbers = count(round);
        ASSERT_NE(numbers.frame(), nullptr);
        EXPECT_TRUE(egb_pool_is_ancestor(egb_heap_pool(), egb_pool_of(numbers.frame())));
        EXPECT_EQ(numbers.next(), round);
        EXPECT_EQ(numbers.next(), round + 1);
    }
    egb_pool_stats after{};
    EXPECT_EQ(egb_pool_get_subtree_stats(egb_heap_pool(), &after), EGB_OK);
    EXPECT_EQ(after.in_use, before.in_use);
    EXPECT_EQ(after.allocations, before.allocations + 3);
}

TEST(Coroutine, HasItsFrameInTheHeap)
{
    count_a_little<never_full>();
}

TEST(Coroutine, ThatMayHaveNoFrameHasItInTheHeap)
{
    count_a_little<sometimes_full>();
    is_full                                        = true;
    counter<sometimes_full> (*volatile count)(int) = count_from<sometimes_full>;
    EXPECT_EQ(count(1).frame(), nullptr);
    is_full = false;
}

// Its only parameter would fit the placement form of operator new.
template <template <class> class Base>
counter<Base> count_at(char* place)
{
    for (;;) {
        *place += 1;
        co_yield int{*place};
    }
}

TEST(Coroutine, HasItsFrameInTheHeapAlsoIfItsParameterIsAPointer)
{
    const events quiet;
    char         place[1024]                     = {};
    counter<never_full> (*volatile count)(char*) = count_at<never_full>;
    counter<never_full> numbers                  = count(place);
    EXPECT_TRUE(egb_pool_is_ancestor(egb_heap_pool(), egb_pool_of(numbers.frame())));
    EXPECT_EQ(numbers.next(), 1);
    EXPECT_EQ(numbers.next(), 2);
    for (const char& other : place) {
        EXPECT_EQ(other, &other == place ? 2 : 0);
    }
}

}  // namespace
