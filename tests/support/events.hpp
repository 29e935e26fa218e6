// SPDX-License-Identifier: MIT
// Records every misuse while it lives, so that a test can say what it expects and nothing else
// passes.
#ifndef EGGBOX_TESTS_SUPPORT_EVENTS_HPP
#define EGGBOX_TESTS_SUPPORT_EVENTS_HPP

#include "eggbox/check.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

class events
{
  public:
    events()
    {
        egb_set_misuse_handler(record, this);
    }

    // What was not asked for by `take` was not expected.
    ~events()
    {
        egb_set_misuse_handler(nullptr, nullptr);
        EXPECT_TRUE(seen_.empty()) << "unexpected: " << egb_event_text(seen_.front().kind);
    }

    events(const events&)            = delete;
    events& operator=(const events&) = delete;

    // The only event since the last call. Fails if there was none or more than one.
    egb_event take()
    {
        EXPECT_EQ(seen_.size(), 1u);
        const egb_event event = seen_.empty() ? egb_event{} : seen_.front();
        seen_.clear();
        return event;
    }

    egb_event_kind take_kind()
    {
        return take().kind;
    }

    // The only two events since the last call, in their order.
    std::pair<egb_event_kind, egb_event_kind> take_two()
    {
        EXPECT_EQ(seen_.size(), 2u);
        const auto both = seen_.size() != 2 ? std::pair<egb_event_kind, egb_event_kind>{}
                                            : std::make_pair(seen_[0].kind, seen_[1].kind);
        seen_.clear();
        return both;
    }

    bool none() const
    {
        return seen_.empty();
    }

  private:
    static void record(const egb_event* event, void* user)
    {
        static_cast<events*>(user)->seen_.push_back(*event);
    }

    std::vector<egb_event> seen_;
};

#endif  // EGGBOX_TESTS_SUPPORT_EVENTS_HPP
