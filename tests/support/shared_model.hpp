// SPDX-License-Identifier: MIT
// A fixed pool for threads in its simplest form: the blocks that are held, a number of free ones,
// and a sorted line of threads. The model runs operations on a pool and on itself.
#ifndef EGGBOX_TESTS_SUPPORT_SHARED_MODEL_HPP
#define EGGBOX_TESTS_SUPPORT_SHARED_MODEL_HPP

#include "any_pool.hpp"
#include "coroutines.hpp"
#include "events.hpp"

#include <algorithm>

class shared_model
{
  public:
    shared_model(way made, std::size_t count, std::size_t reserve, std::size_t threads)
        : scene(threads), all_(made, 8, count), count_(count), reserve_(reserve)
    {
        EXPECT_EQ(egb_fixed_shared_init(&shared, &all_.pool, &scene.port, reserve), EGB_OK);
    }

    ~shared_model()
    {
        while (!line_.empty()) {
            time_out(std::size_t(line_.front().thread - &scene.threads[0]));
        }
    }

    // ---- operations; each says whether it could be done -------------------------------------

    bool ask(std::size_t index, bool is_urgent)
    {
        waiting_thread& thread = scene.threads[index];
        if (thread.now != waiting_thread::state::idle) {
            return false;
        }
        scene.ask(thread, &shared, is_urgent);
        if (may_have(is_urgent)) {
            EXPECT_EQ(thread.answer, EGB_OK);
            keep(thread.block);
        } else {
            EXPECT_EQ(thread.now, waiting_thread::state::waiting);
            const place last{&thread, is_urgent, thread.priority};
            line_.insert(std::upper_bound(line_.begin(), line_.end(), last), last);
        }
        return true;
    }

    bool take(bool is_urgent)
    {
        void* const block =
            is_urgent ? egb_fixed_shared_alloc_urgent(&shared) : egb_fixed_shared_alloc(&shared);
        EXPECT_EQ(block != nullptr, may_have(is_urgent));
        if (block != nullptr) {
            keep(block);
        }
        return true;
    }

    bool give(std::size_t which)
    {
        if (which >= held.size()) {
            return false;
        }
        void* const block = held[which];
        held.erase(held.begin() + long(which));
        egb_fixed_shared_free(&shared, block);
        const auto ran = scene.run_ready();
        // `may_have` asks as if the block were free.
        const bool goes_on = !line_.empty() && may_have(line_.front().is_urgent);
        EXPECT_EQ(ran.size(), std::size_t(goes_on));
        if (goes_on) {
            EXPECT_EQ(ran.front(), line_.front().thread);
            EXPECT_EQ(line_.front().thread->answer, EGB_OK);
            EXPECT_EQ(line_.front().thread->block, block);
            line_.erase(line_.begin());
            keep(block);
        }
        return true;
    }

    bool time_out(std::size_t index)
    {
        waiting_thread& thread = scene.threads[index];
        if (thread.now != waiting_thread::state::waiting) {
            return false;
        }
        scene.time_out(thread);
        EXPECT_EQ(thread.now, waiting_thread::state::idle);
        EXPECT_EQ(thread.answer, EGB_TIMED_OUT);
        EXPECT_EQ(thread.block, nullptr);
        line_.erase(std::find_if(line_.begin(), line_.end(), [&](const place& at) {
            return at.thread == &thread;
        }));
        return true;
    }

    bool cancel()
    {
        if (line_.empty()) {
            return false;
        }
        EXPECT_EQ(egb_fixed_shared_cancel(&shared), line_.size());
        const auto ran = scene.run_ready();
        EXPECT_EQ(ran.size(), line_.size());
        for (std::size_t i = 0; i < ran.size(); i++) {
            EXPECT_EQ(ran[i], line_[i].thread);
            EXPECT_EQ(ran[i]->answer, EGB_CANCELLED);
            EXPECT_EQ(ran[i]->block, nullptr);
        }
        line_.clear();
        return true;
    }

    void compare()
    {
        EXPECT_TRUE(events_.none());
        EXPECT_TRUE(egb_fixed_shared_whole(&shared));
        EXPECT_EQ(egb_fixed_shared_in_use(&shared), held.size());
        EXPECT_EQ(egb_fixed_shared_waiting(&shared), line_.size());
    }

    coroutines         scene;
    egb_fixed_shared   shared{};
    std::vector<void*> held;

  private:
    struct place {
        waiting_thread* thread;
        bool            is_urgent;
        uint32_t        priority;

        bool operator<(const place& other) const
        {
            return is_urgent != other.is_urgent ? is_urgent : priority > other.priority;
        }
    };

    bool may_have(bool is_urgent) const
    {
        return count_ - held.size() > (is_urgent ? 0 : reserve_);
    }

    void keep(void* block)
    {
        EXPECT_TRUE(egb_fixed_is_live(&all_.pool, block));
        EXPECT_EQ(std::count(held.begin(), held.end(), block), 0) << "handed out twice";
        held.push_back(block);
    }

    any_pool           all_;
    events             events_;
    std::size_t        count_;
    std::size_t        reserve_;
    std::vector<place> line_;
};

#endif  // EGGBOX_TESTS_SUPPORT_SHARED_MODEL_HPP
