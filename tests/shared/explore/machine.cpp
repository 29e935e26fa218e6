// SPDX-License-Identifier: MIT
// Calls of the processes: how they begin, go on by one step, and end.
#include "machine.hpp"

#include <algorithm>
#include <cstring>

namespace explore
{

namespace
{

machine* current = nullptr;

bool needs_block(explore_call call)
{
    return call == CALL_FILL || call == CALL_READ || call == CALL_SEND || call == CALL_RELEASE ||
           call == CALL_PUBLISH;
}

bool gives_block(explore_call call)
{
    return call == CALL_ALLOC || call == CALL_ALLOC_WAIT || call == CALL_OPEN ||
           call == CALL_NEXT || call == CALL_NEXT_WAIT || call == CALL_TAKE || call == CALL_LATEST;
}

}  // namespace

machine::machine(const scenario& what, const rules& how, result* out)
    : scenario_(what), rules_(how), result_(*out)
{
    current = this;
    for (const script& one : what.scripts) {
        bool publishes = false;
        for (const action& wish : one) {
            publishes  = publishes || wish.call == CALL_PUBLISH;
            has_waits_ = has_waits_ || wish.call == CALL_ALLOC_WAIT || wish.call == CALL_NEXT_WAIT;
        }
        publishers_ += publishes ? 1 : 0;
    }
}

state machine::start()
{
    state first;
    explore_make(&scenario_.shape, first.words.data());
    for (std::size_t i = 0; i < processes; i++) {
        process& one = first.all[i];
        if (i >= scenario_.scripts.size()) {
            one.is = life::dead;
            continue;
        }
        one.own.slot = static_cast<uint32_t>(i);
        if (scenario_.scripts[i].front().call != CALL_ATTACH) {
            first.words[EXPLORE_ATTACHED] |= uint64_t{1} << i;
            first.locks[i] = static_cast<int8_t>(i + 1);
        }
        skip_idle(&one, i);
    }
    return first;
}

process& machine::self()
{
    return now_->all[number_];
}

const action& machine::action_of(const process& one, std::size_t number) const
{
    return scenario_.scripts[number][one.at];
}

void machine::violate(const std::string& what)
{
    if (result_.violation.empty()) {
        result_.violation = what;
    }
}

// ---- one step -----------------------------------------------------------------------------------

bool machine::can_run(const state& now, std::size_t number) const
{
    const process& one  = now.all[number];
    const int8_t   lock = now.locks[EXPLORE_LOCKS - 1];
    return one.is == life::in_script && one.sleeps_on < 0 &&
           (one.next != EXPLORE_PAUSE || lock == 0 || lock == static_cast<int8_t>(number + 1));
}

unsigned machine::run(state* now, std::size_t number, unsigned choice)
{
    now_              = now;
    number_           = number;
    choice_           = choice;
    choices_          = 1;
    const action wish = action_of(self(), number);
    if (self().told_count == 0) {
        begin_call(wish);
    }
    make_request(wish);
    make_call();
    if (is_over_) {
        end_call(wish);
    }
    return choices_;
}

void machine::begin_call(const action& wish)
{
    hand& held = self().holds[wish.hand];
    if (wish.call == CALL_RELEASE) {
        self().released = held.block;
        held            = hand();
    } else if (wish.call == CALL_LEAVE) {
        self().holds = {};
    } else if (wish.call == CALL_FILL) {
        self().stamps++;
    }
}

void machine::make_request(const action& wish)
{
    const hand& held = self().holds[wish.hand];
    request_         = explore_request{};
    request_.call    = wish.call;
    request_.block   = wish.call == CALL_RELEASE ? self().released : held.block;
    request_.stamp   = wish.call == CALL_FILL
                           ? static_cast<unsigned>(16 * (number_ + 1)) + self().stamps
                           : held.stamp;
    request_.after   = self().after;
    request_.handle  = now_->boxes[wish.box].handle;
    answer_          = explore_answer{};
    own_             = self().own;
}

// The call ends, or is left at the step after the new one.
void machine::make_call()
{
    cursor_  = 0;
    told_    = self().told_count;
    is_done_ = false;
    is_over_ = true;
    if (request_.call == CALL_OPEN && request_.handle.generation == 0) {
        return;
    }
    std::memcpy(explore_notes(), now_->notes.data(), now_->notes.size());
    if (setjmp(suspended_) == 0) {
        explore_do(static_cast<unsigned>(number_), &own_, &request_, &answer_);
    } else {
        is_over_ = false;
    }
    std::memcpy(now_->notes.data(), explore_notes(), now_->notes.size());
}

uint64_t machine::on_step(
    explore_kind         kind,
    volatile const void* at,
    int                  order,
    uint64_t             value,
    uint64_t             expected,
    const char*          function
)
{
    const int  word     = at == nullptr ? -1 : explore_word_of(at);
    const bool is_event = word == EXPLORE_FREED || word == EXPLORE_NEWS;
    if (at != nullptr && kind != EXPLORE_PAUSE && (word < 0 || (is_event && !has_waits_))) {
        return 0;  // a number for people, or of events that nobody waits for
    }
    const step what = {kind, static_cast<int8_t>(word), order == 3, value, expected};
    if (is_audit_) {
        return mutate(what, function);
    }
    if (cursor_ < told_) {
        const uint64_t told = self().told[cursor_++];
        if (cursor_ == told_) {  // the repetition ends here
            std::memcpy(explore_notes(), now_->notes.data(), now_->notes.size());
        }
        return told;
    }
    if (is_done_ || told_ == steps_most) {
        self().next = kind;
        if (told_ == steps_most) {
            violate("a call does not come to its end");
        }
        std::longjmp(suspended_, 1);
    }
    is_done_              = true;
    const uint64_t answer = mutate(what, function);
    self().told[told_]    = answer;
    self().told_count     = static_cast<uint8_t>(told_ + 1);
    self().next           = EXPLORE_NOTHING;
    result_.call_steps    = std::max(result_.call_steps, told_ + 1);
    return answer;
}

// ---- the end of a call --------------------------------------------------------------------------

// A script goes on with the next call that has the block it speaks of.
void machine::skip_idle(process* one, std::size_t number) const
{
    const script& all = scenario_.scripts[number];
    while (one->at < all.size() && needs_block(all[one->at].call) &&
           one->holds[all[one->at].hand].block < 0) {
        one->at++;
    }
    one->is = one->at == all.size() ? life::at_end : life::in_script;
}

void machine::know_frame(uint64_t sequence, unsigned stamp)
{
    uint8_t& known = now_->stamp_of[sequence % now_->stamp_of.size()];
    if (known != 0 && known != stamp) {
        violate("two frames have the same number");
    }
    known = static_cast<uint8_t>(stamp);
}

void machine::end_with_block(const action& wish, hand* held)
{
    held->block      = static_cast<int8_t>(answer_.block);
    held->generation = now_->generation_of(answer_.block);
    held->stamp      = static_cast<uint8_t>(answer_.stamp);
    if (wish.call == CALL_ALLOC || wish.call == CALL_ALLOC_WAIT) {
        for (const process& other : now_->all) {
            for (const hand& theirs : other.holds) {
                if (&theirs != held && other.is != life::dead && theirs.block == held->block) {
                    violate("alloc returned a block that a process holds");
                }
            }
        }
        return;
    }
    if (wish.call == CALL_OPEN) {
        held->stamp      = now_->boxes[wish.box].stamp;
        answer_.handle   = request_.handle;
        answer_.sequence = 0;
    } else {
        know_frame(answer_.sequence, answer_.stamp);
    }
    if (answer_.handle.generation != held->generation) {
        violate("a frame was opened that is another one than its handle's");
    }
    if (wish.call == CALL_TAKE) {
        const unsigned bit = 1U << (answer_.sequence % 16);
        if ((now_->taken & bit) != 0) {
            violate("a frame was taken twice");
        }
        now_->taken = static_cast<uint16_t>(now_->taken | bit);
    } else if (wish.call == CALL_NEXT || wish.call == CALL_NEXT_WAIT) {
        if (answer_.sequence <= self().after) {
            violate("next went back");
        }
        self().after = answer_.sequence;
    }
}

void machine::compare_halves(const hand& held)
{
    if (held.stamp != 0 && (answer_.halves[0] != held.stamp || answer_.halves[1] != held.stamp)) {
        violate("a frame is torn, or another one's");
    }
}

void machine::end_publish(const hand& held)
{
    if (answer_.has) {
        know_frame(answer_.sequence, held.stamp);
    } else if (publishers_ == 1) {
        violate("a publish was refused, and nobody else publishes");
    }
}

void machine::end_call(const action& wish)
{
    hand& held = self().holds[wish.hand];
    self().own = own_;
    if (gives_block(wish.call) && answer_.has) {
        end_with_block(wish, &held);
    } else if (wish.call == CALL_FILL) {
        held.stamp = static_cast<uint8_t>(request_.stamp);
    } else if (wish.call == CALL_READ) {
        compare_halves(held);
    } else if (wish.call == CALL_SEND) {
        finish_stores();  // any queue that a handle goes through is behind them
        now_->boxes[wish.box] = message{answer_.handle, held.stamp};
    } else if (wish.call == CALL_PUBLISH) {
        end_publish(held);
    }
    self().told_count = 0;
    self().next       = EXPLORE_NOTHING;
    self().released   = -1;
    self().at++;
    skip_idle(&self(), number_);
}

}  // namespace explore

extern "C" uint64_t explore_step(
    explore_kind         kind,
    volatile const void* at,
    int                  order,
    uint64_t             value,
    uint64_t             expected,
    const char*          function
)
{
    return explore::current->on_step(kind, at, order, value, expected, function);
}

extern "C" void explore_fail(const char* what)
{
    explore::current->violate(what);
}
