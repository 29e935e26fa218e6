// SPDX-License-Identifier: MIT
// Walks every history of a small object, each step once: after the histories that begin with a step
// the object and its memory are restored, in place, to their state before it.
#ifndef EGGBOX_TESTS_SUPPORT_EVERY_HISTORY_HPP
#define EGGBOX_TESTS_SUPPORT_EVERY_HISTORY_HPP

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <type_traits>

// A vector of at most N elements that is copied without a request for memory.
template <class T, std::size_t N>
class short_list
{
  public:
    void push_back(const T& value)
    {
        all_.at(count_++) = value;
    }

    void push_front(const T& value)
    {
        for (std::size_t i = count_++; i > 0; i--) {
            all_.at(i) = all_.at(i - 1);
        }
        all_[0] = value;
    }

    T pop_back()
    {
        return all_.at(--count_);
    }

    void erase(std::size_t at)
    {
        count_--;
        for (std::size_t i = at; i < count_; i++) {
            all_[i] = all_[i + 1];
        }
    }

    bool empty() const
    {
        return count_ == 0;
    }

    std::size_t size() const
    {
        return count_;
    }

    T& operator[](std::size_t at)
    {
        return all_.at(at);
    }

    const T& operator[](std::size_t at) const
    {
        return all_.at(at);
    }

    T* begin()
    {
        return all_.data();
    }

    T* end()
    {
        return all_.data() + count_;
    }

    const T* begin() const
    {
        return all_.data();
    }

    const T* end() const
    {
        return all_.data() + count_;
    }

  private:
    std::array<T, N> all_{};
    std::size_t      count_ = 0;
};

// `thing.step(kind)` with each kind below `kinds`, `depth` steps deep. Returns the number of whole
// histories; stops at the first step that fails the test, and names it.
template <class Thing>
long every_history(Thing& thing, int kinds, int depth)
{
    static_assert(std::is_trivially_copyable_v<Thing>);
    if (depth == 0) {
        return 1;
    }
    long histories = 0;
    for (int kind = 0; kind < kinds && !testing::Test::HasFailure(); kind++) {
        const Thing before = thing;
        thing.step(kind);
        if (testing::Test::HasFailure()) {
            ADD_FAILURE() << "kind " << kind << ", " << depth - 1 << " steps before the end";
            break;
        }
        histories += every_history(thing, kinds, depth - 1);
        thing = before;
    }
    return histories;
}

#endif  // EGGBOX_TESTS_SUPPORT_EVERY_HISTORY_HPP
