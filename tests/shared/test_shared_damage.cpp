// SPDX-License-Identifier: MIT
// Other processes that write to the control part at random, and readers that stop.
#include "shared.hpp"

#include <csignal>
#include <cstring>
#include <sys/mman.h>
#include <vector>

namespace
{

// Others write to the control part at random: no crash, no access outside, an answer.
TEST(SharedDamage, of_any_byte_is_answered)
{
    egb_shared* const pool    = make_shared_pool(shared_options(4, 3));
    const size_t      size    = 60000;
    char* const       control = static_cast<char*>(
        mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, egb_shared_fd(pool), 0)
    );
    ASSERT_NE(control, MAP_FAILED);
    size_t used = size;
    while (used > 0 && control[used - 1] == 0) {
        used--;
    }
    for (size_t at = 0; at < used + 64; at++) {
        control[at] = static_cast<char>(control[at] ^ (1 << at % 8));
        egb_published out;
        void* const   block = egb_shared_alloc(pool);
        if (block != nullptr) {
            memset(block, 1, 100);
            (void)!egb_shared_publish(pool, block, &at, nullptr);
            void* again = nullptr;
            if (egb_shared_open(pool, egb_shared_handle(pool, block), &again) == EGB_OK) {
                egb_shared_release(pool, again);
            }
            egb_shared_release(pool, block);
        }
        if (egb_shared_next(pool, 0, 0, &out) == EGB_OK) {
            memset(out.block, 2, 100);
            egb_shared_release(pool, out.block);
        }
        if (egb_shared_take(pool, 0, &out) == EGB_OK) {
            egb_shared_release(pool, out.block);
        }
        (void)egb_shared_recover(pool);
    }
    munmap(control, size);
    egb_shared_close(pool);
}

// Uses a pool whose control part changes under it. False: never.
[[noreturn]] void use_damaged(egb_shared* pool)
{
    for (uint64_t i = 0;; i++) {
        egb_published out;
        void* const   block = egb_shared_alloc(pool);
        if (block != nullptr) {
            memset(block, 1, 100);
            (void)!egb_shared_publish(pool, block, &i, nullptr);
            egb_shared_release(pool, block);
        }
        const bool is_take = i % 3 == 0;
        if ((is_take ? egb_shared_take(pool, 0, &out) : egb_shared_next(pool, 0, 0, &out)) ==
            EGB_OK) {
            (void)*static_cast<volatile char*>(out.block);
            egb_shared_release(pool, out.block);
        }
        if (i % 16 == 0) {
            (void)egb_shared_recover(pool);
        }
    }
}

// Each byte that is used of the control part is changed, twice, while two processes are at work.
TEST(SharedDamage, while_others_are_at_work_ends_none_of_them)
{
    egb_shared* const pool    = make_shared_pool(shared_options(8, 3));
    const size_t      size    = 16384;
    char* const       control = static_cast<char*>(
        mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, egb_shared_fd(pool), 0)
    );
    ASSERT_NE(control, MAP_FAILED);
    const pid_t workers[] = {
        start_child([&] {
            use_damaged(pool);
            return false;
        }),
        start_child([&] {
            use_damaged(pool);
            return false;
        })
    };
    for (int round = 0; round < 2; round++) {
        for (size_t at = 0; at < size; at++) {
            control[at] =
                static_cast<char>(control[at] ^ (1 << (at + static_cast<size_t>(round)) % 8));
            if (at % 64 == 0) {
                (void)usleep(100);
            }
        }
    }
    for (const pid_t worker : workers) {
        kill_and_reap(worker);  // it was alive
    }
    munmap(control, size);
    egb_shared_close(pool);
}

// Each single bit of the control part is wrong once, in a pool that has frames and is else whole:
// what a number out of range leads to is not hidden by the damage before.
void use_with_each_bit_wrong(egb_shared_full on_full)
{
    egb_shared_options options = shared_options(8, 3);
    options.on_full            = on_full;
    egb_shared* const pool     = make_shared_pool(options);
    for (uint64_t i = 0; i < 5; i++) {
        void* const block = egb_shared_alloc(pool);
        ASSERT_EQ(egb_shared_publish(pool, block, &i, nullptr), EGB_OK);
        egb_shared_release(pool, block);
    }
    std::vector<char> whole(16384);
    char* const       control = static_cast<char*>(
        mmap(nullptr, whole.size(), PROT_READ | PROT_WRITE, MAP_SHARED, egb_shared_fd(pool), 0)
    );
    ASSERT_NE(control, MAP_FAILED);
    memcpy(whole.data(), control, whole.size());
    while (whole.back() == 0) {
        whole.pop_back();
    }
    for (size_t bit = 0; bit < whole.size() * 8; bit++) {
        control[bit / 8] = static_cast<char>(control[bit / 8] ^ 1 << bit % 8);
        egb_published out;
        if (egb_shared_next(pool, 0, 0, &out) == EGB_OK) {
            (void)*static_cast<volatile char*>(out.block);
            egb_shared_release(pool, out.block);
        }
        if (egb_shared_take(pool, 0, &out) == EGB_OK) {
            egb_shared_release(pool, out.block);
        }
        std::vector<void*> all;
        while (void* const block = all.size() <= 8 ? egb_shared_alloc(pool) : nullptr) {
            memset(block, 1, 100);
            all.push_back(block);
        }
        const uint64_t note = bit;
        if (!all.empty()) {
            (void)!egb_shared_publish(pool, all[0], &note, nullptr);
        }
        for (void* const block : all) {
            egb_shared_release(pool, block);
        }
        (void)egb_shared_recover(pool);
        memcpy(control, whole.data(), whole.size());
    }
    munmap(control, whole.size());
    egb_shared_close(pool);
}

TEST(SharedDamage, of_each_single_bit_is_answered)
{
    use_with_each_bit_wrong(EGB_SHARED_FAIL);
    use_with_each_bit_wrong(EGB_SHARED_DROP_OLDEST);
}

// ---- readers that stop --------------------------------------------------------------------------

// A reader that was stopped for very long sees its frame unchanged, and how many it missed.
TEST(SharedReader, that_was_stopped_for_ten_thousand_frames_has_its_frame_and_is_told)
{
    egb_shared_options options = shared_options(6, 3);
    options.on_full            = EGB_SHARED_DROP_OLDEST;
    egb_shared* const pool     = make_shared_pool(options);
    const auto        publish  = [&](uint64_t value) {
        void* const block = egb_shared_alloc(pool);
        memset(block, static_cast<int>(value % 251), 100);
        EXPECT_EQ(egb_shared_publish(pool, block, &value, nullptr), EGB_OK);
        egb_shared_release(pool, block);
    };
    int ready[2];
    ASSERT_EQ(pipe(ready), 0);
    publish(1);
    const pid_t reader = start_child([&] {
        egb_published held;
        egb_published next;
        const bool    has =
            egb_shared_next(pool, 0, 0, &held) == EGB_OK && write(ready[1], "x", 1) == 1;
        (void)raise(SIGSTOP);
        const auto* const bytes = static_cast<const unsigned char*>(held.block);
        return has && bytes[0] == 1 && bytes[99] == 1 &&
               egb_shared_next(pool, held.sequence, 0, &next) == EGB_OK && next.sequence == 9999 &&
               next.missed == 9997;
    });
    char        go     = 0;
    ASSERT_EQ(read(ready[0], &go, 1), 1);
    int status = 0;
    ASSERT_EQ(waitpid(reader, &status, WUNTRACED), reader);
    ASSERT_TRUE(WIFSTOPPED(status));
    for (uint64_t value = 2; value <= 10001; value++) {
        publish(value);
    }
    EXPECT_EQ(kill(reader, SIGCONT), 0);
    EXPECT_EQ(end_of(reader), 0);
    (void)egb_shared_recover(pool);
    EXPECT_EQ(numbers_of(pool).in_use, 3U);
    EXPECT_EQ(numbers_of(pool).only_feed, 3U);
    EXPECT_EQ(numbers_of(pool).attachments, 1U);
    close(ready[0]);
    close(ready[1]);
    egb_shared_close(pool);
}

}  // namespace
