// SPDX-License-Identifier: MIT
// Random histories of the heap against a model: every call, sizes from 0 bytes to 4 MiB, the whole
// contents of every block; then the same in several threads, which free each other's blocks.
#include "events.hpp"
#include "heaps.hpp"

#include <atomic>
#include <cstdlib>
#include <map>
#include <thread>

namespace
{

constexpr bool        is_slow         = is_sanitized;
constexpr std::size_t bytes_out_max   = std::size_t{24} << 20;
constexpr std::size_t mailboxes_count = 64;

// A block as the model knows it: `bytes` of it are filled with `number`.
struct known {
    void*         block;
    std::size_t   bytes;
    std::uint64_t number;
};

struct mailbox {
    std::atomic<known*> content{nullptr};
};

std::uint64_t first_seed()
{
    const char* const text = std::getenv("EGGBOX_SEED");
    return text != nullptr ? std::strtoull(text, nullptr, 10) : 1;
}

// Small ones most often; every class boundary and every large size is likely enough to be met.
std::size_t random_bytes(randoms* random)
{
    switch (random->below(10)) {
        case 0: return random->below(17);
        case 1: return (std::size_t{1} << random->below(16)) + random->below(3) - 1;
        case 2: return random->below(40000);
        case 3: return random->below(random->below(20) == 0 ? std::size_t{4} << 20 : 200000);
        default: return random->below(1200);
    }
}

// The blocks of one thread, and the steps it takes with them.
class history
{
  public:
    history(std::uint64_t seed, mailbox* mailboxes)
        : random_(seed), mailboxes_(mailboxes), next_number_(seed << 32)
    {
    }

    void step()
    {
        switch (random_.below(12)) {
            case 0:
            case 1:
            case 2: take(); break;
            case 3: take_zeroed(); break;
            case 4: take_aligned(); break;
            case 5:
            case 6: change(); break;
            case 7: exchange(); break;
            case 8: ask(); break;
            case 9: trim_sometimes(); break;
            default: give(); break;
        }
        while (bytes_out_ > bytes_out_max) {
            give();
        }
    }

    void give_all()
    {
        while (!blocks_.empty()) {
            give();
        }
    }

  private:
    void add(void* block, std::size_t bytes)
    {
        ASSERT_NE(block, nullptr) << bytes;
        ASSERT_TRUE(is_aligned(block, 16));
        ASSERT_GE(egb_block_bytes(block), bytes);
        blocks_.push_back({block, bytes, next_number_});
        fill(block, bytes, next_number_++);
        bytes_out_ += bytes;
    }

    known remove()
    {
        const std::size_t which = random_.below(blocks_.size());
        const known       one   = blocks_[which];
        blocks_[which]          = blocks_.back();
        blocks_.pop_back();
        bytes_out_ -= one.bytes;
        EXPECT_TRUE(is_filled(one.block, one.bytes, one.number)) << one.bytes;
        return one;
    }

    void take()
    {
        const std::size_t bytes = random_bytes(&random_);
        add(egb_malloc(bytes), bytes);
    }

    void take_zeroed()
    {
        const std::size_t count = 1 + random_.below(8);
        const std::size_t bytes = random_bytes(&random_) / count;
        void* const       block = egb_calloc(count, bytes);
        EXPECT_TRUE(block != nullptr && is_zero(block, count * bytes));
        add(block, count * bytes);
    }

    void take_aligned()
    {
        const std::size_t bytes = random_bytes(&random_);
        const std::size_t align = std::size_t{1} << random_.below(19);
        void* const       block = egb_aligned_alloc(align, bytes);
        EXPECT_TRUE(is_aligned(block, align));
        add(block, bytes);
    }

    void change()
    {
        if (blocks_.empty()) {
            return;
        }
        const known       one   = remove();
        const std::size_t bytes = random_.below(3) == 0 ? one.bytes + random_.below(one.bytes + 1)
                                                        : random_bytes(&random_);
        void* const       block = egb_realloc(one.block, bytes);
        ASSERT_NE(block, nullptr);
        const std::size_t both = one.bytes < bytes ? one.bytes : bytes;
        EXPECT_TRUE(is_filled(block, both, one.number)) << one.bytes << " to " << bytes;
        add(block, bytes);
    }

    void give()
    {
        if (!blocks_.empty()) {
            egb_free(remove().block);
        }
    }

    // Leaves a block for another thread and takes what lies there.
    void exchange()
    {
        if (blocks_.empty()) {
            return;
        }
        auto* const  letter = new known(remove());
        known* const other  = mailboxes_[random_.below(mailboxes_count)].content.exchange(letter);
        if (other != nullptr) {
            blocks_.push_back(*other);
            bytes_out_ += other->bytes;
            delete other;
        }
    }

    void ask()
    {
        if (blocks_.empty()) {
            return;
        }
        const known       one  = blocks_[random_.below(blocks_.size())];
        const egb_pool    pool = egb_pool_of(one.block);
        const std::size_t room = egb_block_bytes(one.block);
        EXPECT_GE(room, one.bytes);
        EXPECT_TRUE(pool == egb_pool{} || stats_of(pool).block_bytes == room);
    }

    void trim_sometimes()
    {
        if (random_.below(200) == 0) {
            (void)egb_heap_trim(random_.below(2) * (std::size_t{1} << 20));
        }
    }

    randoms            random_;
    mailbox*           mailboxes_;
    std::uint64_t      next_number_;
    std::vector<known> blocks_;
    std::size_t        bytes_out_ = 0;
};

void empty(mailbox* mailboxes)
{
    for (std::size_t i = 0; i < mailboxes_count; i++) {
        known* const letter = mailboxes[i].content.exchange(nullptr);
        if (letter != nullptr) {
            EXPECT_TRUE(is_filled(letter->block, letter->bytes, letter->number));
            egb_free(letter->block);
            delete letter;
        }
    }
}

void run(std::uint64_t seed, std::size_t threads, int steps)
{
    const all_given_back check;
    std::vector<mailbox> mailboxes(mailboxes_count);
    const auto           work = [&](std::size_t self) {
        history mine(seed + self, mailboxes.data());
        for (int i = 0; i < steps; i++) {
            mine.step();
        }
        mine.give_all();
    };
    std::vector<std::thread> others;
    for (std::size_t i = 1; i < threads; i++) {
        others.emplace_back(work, i);
    }
    work(0);
    for (std::thread& other : others) {
        other.join();
    }
    empty(mailboxes.data());
}

}  // namespace

TEST(heap_model, histories_of_one_thread)
{
    const events seen;
    for (std::uint64_t seed = first_seed(); seed < first_seed() + 4; seed++) {
        SCOPED_TRACE(seed);
        run(seed, 1, is_slow ? 4000 : 20000);
    }
}

TEST(heap_model, histories_of_threads_that_free_each_others_blocks)
{
    const events seen;
    for (std::uint64_t seed = first_seed(); seed < first_seed() + 3; seed++) {
        SCOPED_TRACE(seed);
        run(seed * 1000, 4, is_slow ? 1500 : 8000);
    }
}

TEST(heap_model, the_same_while_requests_are_measured)
{
    const events seen;
    egb_heap_measure(true);
    run(first_seed() * 77, 2, is_slow ? 1000 : 8000);
    egb_heap_measure(false);
    run(first_seed() * 78, 2, is_slow ? 1000 : 8000);
}

TEST(heap_model, afterwards_everything_can_be_given_back)
{
    (void)egb_heap_trim(0);
    EXPECT_EQ(subtree_of(egb_heap_pool()).bytes_held, 0u);
    EXPECT_EQ(heap_numbers().cached_bytes, 0u);
    EXPECT_EQ(heap_numbers().large_bytes, 0u);
}
