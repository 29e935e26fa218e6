// SPDX-License-Identifier: MIT
// Shared memory under the processes: words, store buffers, the kernel's locks, and mutants.
#include "machine.hpp"

#include <cstring>

namespace explore
{

namespace
{

std::size_t lock_of(uint64_t byte)
{
    return byte < EXPLORE_LOCKS - 2 ? byte : byte - 62 + EXPLORE_LOCKS - 2;
}

void apply(state* now, const step& what)
{
    uint64_t& word = now->words[static_cast<std::size_t>(what.word)];
    switch (what.kind) {
        case EXPLORE_ADD: word += what.value; break;
        case EXPLORE_OR: word |= what.value; break;
        case EXPLORE_AND: word &= what.value; break;
        default: word = what.value;
    }
}

void drain_one(state* now, process* one)
{
    const store oldest                                = one->stores[0];
    now->words[static_cast<std::size_t>(oldest.word)] = oldest.value;
    one->store_count--;
    for (std::size_t i = 0; i < one->store_count; i++) {
        one->stores[i] = one->stores[i + 1];
    }
    one->stores[one->store_count] = store();
}

void apply_late(state* now, process* one)
{
    apply(now, one->late);
    one->late        = step();
    one->is_late_due = false;
}

}  // namespace

bool machine::can_drain(const state& now, std::size_t number) const
{
    const process& one = now.all[number];
    return one.store_count > 0 || one.is_late_due;
}

void machine::drain(state* now, std::size_t number) const
{
    process* const one = &now->all[number];
    if (one->is_late_due) {
        apply_late(now, one);
    } else {
        drain_one(now, one);
    }
}

// ---- kills --------------------------------------------------------------------------------------

bool machine::can_kill(const state& now, std::size_t number) const
{
    return now.kills < scenario_.kills && now.all[number].is != life::dead;
}

// The stores of instructions that are over reach memory; then the kernel drops the locks.
void machine::kill(state* now, std::size_t number) const
{
    process* const one = &now->all[number];
    if (one->is == life::in_script && one->told_count > 0) {
        const explore_call call = action_of(*one, number).call;
        now->is_feed_cut        = now->is_feed_cut || call == CALL_PUBLISH || call == CALL_TAKE;
    }
    while (one->store_count > 0) {
        drain_one(now, one);
    }
    for (int8_t& owner : now->locks) {
        owner = owner == static_cast<int8_t>(number + 1) ? int8_t{0} : owner;
    }
    *one    = process();
    one->is = life::dead;
    now->kills++;
}

// ---- words --------------------------------------------------------------------------------------

uint64_t machine::load(const step& what)
{
    const auto word = static_cast<std::size_t>(what.word);
    for (std::size_t i = self().store_count; i > 0; i--) {
        if (self().stores[i - 1].word == what.word) {
            return self().stores[i - 1].value;
        }
    }
    if (rules_.is_weak && !what.is_sc && what.kind == EXPLORE_LOAD && !is_audit_) {
        choices_ = 3;
        return choice_ == 0 ? now_->words[word] : choice_ == 1 ? 0 : (1U << EXPLORE_BLOCKS) - 1;
    }
    return now_->words[word];
}

void machine::finish_stores()
{
    while (self().store_count > 0) {
        drain_one(now_, &self());
    }
}

uint64_t machine::change_word(const step& what)
{
    finish_stores();
    const uint64_t before = now_->words[static_cast<std::size_t>(what.word)];
    if (what.kind != EXPLORE_COMPARE || before == what.expected) {
        apply(now_, what);
    }
    return before;
}

uint64_t machine::lock_byte(const step& what)
{
    int8_t&      owner = now_->locks[lock_of(what.value)];
    const int8_t mine  = static_cast<int8_t>(number_ + 1);
    if (what.kind == EXPLORE_IS_LOCKED) {
        return owner != 0 && owner != mine ? 1 : 0;
    }
    if (what.kind == EXPLORE_UNLOCK) {
        owner = owner == mine ? int8_t{0} : owner;
        return 0;
    }
    if (owner != 0 && owner != mine) {
        return 0;
    }
    owner = mine;
    return 1;
}

void machine::wake(int word)
{
    for (process& one : now_->all) {
        one.sleeps_on = one.sleeps_on == word ? int8_t{-1} : one.sleeps_on;
    }
}

uint64_t machine::perform(const step& what)
{
    const bool is_plain = what.kind == EXPLORE_WRITE || (what.kind == EXPLORE_STORE && !what.is_sc);
    if (is_plain && rules_.is_weak && !is_audit_) {
        if (self().store_count == stores_most) {
            violate("the store buffer of the model is too short");
            return 0;
        }
        self().stores[self().store_count++] = {what.word, what.value};
        return 0;
    }
    switch (what.kind) {
        case EXPLORE_LOAD:
        case EXPLORE_READ: return load(what);
        case EXPLORE_SLEEP:
            if (now_->words[static_cast<std::size_t>(what.word)] == what.value) {
                self().sleeps_on = what.word;
            }
            return 0;
        case EXPLORE_WAKE: wake(what.word); return 0;
        case EXPLORE_PAUSE: return 0;
        case EXPLORE_LOCK:
        case EXPLORE_UNLOCK:
        case EXPLORE_IS_LOCKED: finish_stores(); return lock_byte(what);
        default: return change_word(what);
    }
}

// ---- mutants ------------------------------------------------------------------------------------

bool machine::is_mutated(const step& what, const char* function) const
{
    const mutant* const fault = rules_.fault;
    if (fault == nullptr || fault->kind != what.kind || fault->function != function) {
        return false;
    }
    const int subject  = what.word < 0 ? static_cast<int>(what.value) : what.word;
    const int distance = subject - fault->word;
    return fault->word < 0 || distance == 0 ||
           (fault->word >= EXPLORE_BLOCK && what.word > fault->word && distance % 3 == 0);
}

uint64_t machine::mutate(const step& what, const char* function)
{
    if (self().is_late_due) {
        apply_late(now_, &self());
    }
    if (!is_mutated(what, function)) {
        const uint64_t answer = perform(what);
        self().is_late_due    = self().late.kind != EXPLORE_NOTHING;
        return answer;
    }
    const uint64_t before = what.word < 0 ? 0 : now_->words[static_cast<std::size_t>(what.word)];
    switch (rules_.fault->how) {
        case change::answer: return rules_.fault->value;
        case change::late: self().late = what; return before;
        case change::weaker: return perform({what.kind, what.word, false, what.value, 0});
        case change::blind: apply(now_, what); return what.expected;
        default: return what.kind == EXPLORE_COMPARE ? what.expected : before;
    }
}

}  // namespace explore
