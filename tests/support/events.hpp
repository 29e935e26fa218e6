// SPDX-License-Identifier: MIT
// Records every misuse while it lives. A test names the events that it expects, and any other event
// fails it.
#ifndef EGGBOX_TESTS_SUPPORT_EVENTS_HPP
#define EGGBOX_TESTS_SUPPORT_EVENTS_HPP

#include "eggbox/misuse.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

class events
{
  public:
    events()
    {
        egb_misuse_set_handler(record, this);
    }

    // Events that no `take` asked for were not expected.
    ~events()
    {
        egb_misuse_set_handler(nullptr, nullptr);
        EXPECT_TRUE(seen_.empty()) << "unexpected: " << egb_misuse_text(seen_.front().kind);
    }

    events(const events&)            = delete;
    events& operator=(const events&) = delete;

    // The only event since the last call. Fails if there was none or more than one.
    egb_misuse_event take()
    {
        EXPECT_EQ(seen_.size(), 1u);
        const egb_misuse_event event = seen_.empty() ? egb_misuse_event{} : seen_.front();
        seen_.clear();
        return event;
    }

    egb_misuse_kind take_kind()
    {
        return take().kind;
    }

    // The only two events since the last call, in their order.
    std::pair<egb_misuse_kind, egb_misuse_kind> take_two()
    {
        EXPECT_EQ(seen_.size(), 2u);
        const auto both = seen_.size() != 2 ? std::pair<egb_misuse_kind, egb_misuse_kind>{}
                                            : std::make_pair(seen_[0].kind, seen_[1].kind);
        seen_.clear();
        return both;
    }

    // All events since the last call were of this kind.
    egb_misuse_kind take_all()
    {
        const egb_misuse_kind kind = seen_.empty() ? egb_misuse_kind{} : seen_.front().kind;
        for (const egb_misuse_event& event : seen_) {
            EXPECT_EQ(event.kind, kind);
        }
        seen_.clear();
        return kind;
    }

    std::size_t count() const
    {
        return seen_.size();
    }

    // The history of the block of the last event.
    egb_history history() const
    {
        return history_;
    }

    // The pool of the last event.
    std::string pool_name() const
    {
        return pool_name_;
    }

    bool none() const
    {
        return seen_.empty();
    }

  private:
    static void record(const egb_misuse_event* event, void* user)
    {
        events* const self = static_cast<events*>(user);
        self->history_     = event->history == nullptr ? egb_history{} : *event->history;
        self->pool_name_   = event->pool_name == nullptr ? "" : event->pool_name;
        self->seen_.push_back(*event);
        self->seen_.back().history = nullptr;  // it is gone afterwards
    }

    std::vector<egb_misuse_event> seen_;
    egb_history                   history_ = {};
    std::string                   pool_name_;
};

#endif  // EGGBOX_TESTS_SUPPORT_EVENTS_HPP
