// SPDX-License-Identifier: MIT
// Random histories of four threads over several pools, against a model. Blocks wander between
// threads through mailboxes; each is filled with numbers of its own, which are looked at before it
// is freed. Meanwhile any thread trims, reserves, visits, asks, opens caches, makes and destroys
// pools. Now and then all threads stop: then the pools' numbers and the blocks in use must be
// exactly the model's.
//
// The long run: EGGBOX_STRESS_SEEDS=24 EGGBOX_STRESS_OPERATIONS=1000000.
#include "levels.hpp"
#include "stress.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>

namespace
{

enum : std::size_t { THREADS = 4, SHARED = 10, CACHES = 2, BETWEEN_STOPS = 10000 };

// A pool of the model. Counts are what the threads did, each added after the call.
struct model_pool {
    egb_pool                 pool{};
    std::size_t              bytes = 0;
    std::size_t              most  = 0;
    std::atomic<std::size_t> allocations{0};
    std::atomic<std::size_t> frees{0};
    std::atomic<std::size_t> failures{0};
};

struct held {
    unsigned char* block;
    model_pool*    of;
    std::uint64_t  stamp;
};

std::uint64_t stamped(std::uint64_t stamp, std::size_t word)
{
    return stamp * UINT64_C(0x9E3779B97F4A7C15) + word;
}

// Fills or compares the first and last bytes of a block, all of a small one.
template <class Each>
void each_word(const held& one, Each each)
{
    const std::size_t words = one.of->bytes / 8;
    for (std::size_t word = 0; word < words; word++) {
        each(one.block + word * 8, stamped(one.stamp, word));
        if (word == 8 && words > 20) {
            word = words - 4;
        }
    }
}

void fill(const held& one)
{
    each_word(one, [](unsigned char* at, std::uint64_t value) { std::memcpy(at, &value, 8); });
}

void check(const held& one)
{
    each_word(one, [](const unsigned char* at, std::uint64_t value) {
        std::uint64_t found = 0;
        std::memcpy(&found, at, 8);
        MUST(found == value);
    });
}

struct mailbox {
    std::mutex        mutex;
    std::vector<held> letters;
};

struct open_cache {
    egb_magazine cache{};
    model_pool*  of = nullptr;
};

struct world {
    std::array<model_pool, SHARED>                   shared;
    std::array<mailbox, THREADS>                     mail;
    std::array<std::vector<held>, THREADS>           hands;
    std::array<std::unique_ptr<model_pool>, THREADS> own;
    std::mutex                                       attic_mutex;
    std::vector<std::unique_ptr<model_pool>>         attic;  // own pools that were destroyed
    stress::barrier                                  stop{THREADS};
    alignas(64) std::array<unsigned char, 40000> memory;
};

void make_shared_pools(world* all)
{
    struct {
        std::size_t bytes, most;
        bool        is_checked;
    } const kinds[SHARED] = {
        {16, 0, true},
        {64, 0, false},
        {64, 1, true},
        {48, 50, true},
        {24, 63, false},
        {104, 200, true},
        {1000, 0, true},
        {70000, 20, true},
        {8, 300, false},
        {200, 0, true},
    };
    for (std::size_t i = 0; i < SHARED; i++) {
        egb_pool_options options{};
        options.block_bytes = kinds[i].bytes;
        options.max_blocks  = kinds[i].most;
        options.level       = level_named(kinds[i].is_checked ? "check" : "off");
        if (i == 3 || i == 4) {
            options.parent = all->shared[0].pool;
        }
        if (i == SHARED - 1) {
            options.memory       = all->memory.data();
            options.memory_bytes = all->memory.size();
        }
        all->shared[i].pool  = stress::make(options);
        all->shared[i].bytes = kinds[i].bytes;
        all->shared[i].most  = i == SHARED - 1 ? 1000 : kinds[i].most;
    }
}

// One of the four threads.
class player
{
  public:
    player(world* all, std::size_t self, std::uint64_t seed)
        : all_(all), self_(self), random_(seed * THREADS + self), stamp_(std::uint64_t{self} << 56)
    {
    }

    void play(std::size_t operations)
    {
        for (std::size_t i = 0; i < operations; i++) {
            step();
            if ((i + 1) % BETWEEN_STOPS == 0) {
                stop();
            }
        }
        for (open_cache& one : caches_) {
            egb_magazine_close(&one.cache);
        }
    }

  private:
    std::vector<held>& hand()
    {
        return all_->hands[self_];
    }

    void step()
    {
        const std::size_t choice = random_.below(1000);
        if (choice < 420) {
            take();
        } else if (choice < 820) {
            give();
        } else if (choice < 900) {
            send();
        } else if (choice < 985) {
            receive();
        } else if (choice < 994) {
            ask();
        } else {
            rarely();
        }
    }

    void took(model_pool* of, void* block)
    {
        if (block == nullptr) {
            MUST(of->most != 0);
            of->failures++;
            return;
        }
        of->allocations++;
        hand().push_back({static_cast<unsigned char*>(block), of, ++stamp_});
        fill(hand().back());
    }

    void take()
    {
        if (hand().size() >= 300) {
            give();
            return;
        }
        if (random_.below(10) == 0) {
            open_cache& one = caches_[random_.below(CACHES)];
            if (one.of != nullptr) {
                took(one.of, egb_magazine_alloc(&one.cache));
                return;
            }
        }
        if (random_.below(12) == 0 && all_->own[self_] != nullptr) {
            took(all_->own[self_].get(), egb_pool_alloc(all_->own[self_]->pool));
            return;
        }
        model_pool* const of = &all_->shared[random_.below(SHARED)];
        took(of, egb_pool_alloc(of->pool));
    }

    void give()
    {
        if (hand().empty()) {
            return;
        }
        std::swap(hand()[random_.below(hand().size())], hand().back());
        const held one = hand().back();
        hand().pop_back();
        check(one);
        const std::size_t way = random_.below(10);
        for (open_cache& cache : caches_) {
            if (cache.of == one.of && way < 5) {
                egb_magazine_free(&cache.cache, one.block);
                one.of->frees++;
                return;
            }
        }
        void* const block = one.block;
        if (way == 9) {
            egb_free(block);
        } else if (way == 8) {
            egb_pool_free_many(one.of->pool, &block, 1);
        } else {
            egb_pool_free(one.of->pool, block);
        }
        one.of->frees++;
    }

    void send()
    {
        if (!hand().empty()) {
            mailbox&                    to = all_->mail[random_.below(THREADS)];
            std::lock_guard<std::mutex> lock(to.mutex);
            for (std::size_t i = random_.below(8); i > 0 && !hand().empty(); i--) {
                to.letters.push_back(hand().back());
                hand().pop_back();
            }
        }
    }

    void receive()
    {
        mailbox&                    from = all_->mail[self_];
        std::lock_guard<std::mutex> lock(from.mutex);
        hand().insert(hand().end(), from.letters.begin(), from.letters.end());
        from.letters.clear();
    }

    void ask()
    {
        if (hand().empty()) {
            return;
        }
        const held&    one = hand()[random_.below(hand().size())];
        const egb_pool of  = egb_pool_of(one.block + random_.below(one.of->bytes));
        MUST(of.slot == one.of->pool.slot && of.generation == one.of->pool.generation);
        MUST(egb_block_bytes(one.block) == one.of->bytes);
        MUST(egb_pool_alive(one.of->pool));
    }

    void rarely()
    {
        model_pool& of = all_->shared[random_.below(SHARED)];
        switch (random_.below(8)) {
            case 0: egb_pool_trim(of.pool, random_.below(2) * 200000); break;
            case 1: look_at(of); break;
            case 2: count_blocks(of); break;
            case 3: {
                const egb_status status = egb_pool_reserve(of.pool, random_.below(50));
                MUST(status == EGB_OK || (status == EGB_LIMIT && of.most != 0));
                break;
            }
            case 4:
            case 5: change_cache(&of); break;
            default: change_own(); break;
        }
    }

    static void look_at(const model_pool& of)
    {
        const egb_pool_stats stats = stress::stats_of(of.pool);
        MUST(of.most == 0 || stats.in_use <= of.most);
        egb_pool_stats sum;
        MUST(egb_pool_get_subtree_stats({0, 0}, &sum) == EGB_OK);
        MUST(sum.pools >= SHARED);
    }

    static void count_blocks(const model_pool& of)
    {
        std::size_t count = 0;
        egb_pool_each_block(
            of.pool, [](void*, void* user) { ++*static_cast<std::size_t*>(user); }, &count
        );
        MUST(of.most == 0 || count <= of.most);
    }

    void change_cache(model_pool* of)
    {
        open_cache& one = caches_[random_.below(CACHES)];
        if (one.of != nullptr) {
            egb_magazine_close(&one.cache);
            one.of = nullptr;
        } else if (of->bytes < 65536) {
            MUST(egb_magazine_open(&one.cache, of->pool) == EGB_OK);
            one.of = of;
        }
    }

    // Makes this thread's own pool, or destroys it if it has no block in use: this thread alone
    // allocates from it, but any may hold and free its blocks.
    void change_own()
    {
        std::unique_ptr<model_pool>& own = all_->own[self_];
        if (own == nullptr) {
            own.reset(new model_pool);
            own->bytes = 8 + 8 * random_.below(40);
            own->pool  = stress::make(own->bytes, 0, random_.below(2) == 0);
            return;
        }
        const bool       is_empty = own->allocations == own->frees;
        const egb_status status   = egb_pool_destroy(own->pool, EGB_DESTROY_REFUSE);
        MUST(status == EGB_OK || (status == EGB_BUSY && !is_empty));
        if (status == EGB_OK) {
            std::lock_guard<std::mutex> lock(all_->attic_mutex);
            all_->attic.push_back(std::move(own));
        }
    }

    // Everybody stands still, and one compares.
    void stop()
    {
        all_->stop.wait();
        if (self_ == 0) {
            compare_all();
        }
        all_->stop.wait();
    }

    std::vector<void*> blocks_of(const model_pool& of) const
    {
        std::vector<void*> blocks;
        const auto         add = [&](const std::vector<held>& from) {
            for (const held& one : from) {
                if (one.of == &of) {
                    check(one);
                    blocks.push_back(one.block);
                }
            }
        };
        for (std::size_t i = 0; i < THREADS; i++) {
            add(all_->hands[i]);
            add(all_->mail[i].letters);
        }
        std::sort(blocks.begin(), blocks.end());
        return blocks;
    }

    void compare(const model_pool& of) const
    {
        const std::vector<void*> expected = blocks_of(of);
        const egb_pool_stats     stats    = stress::stats_of(of.pool);
        MUST(stats.in_use == expected.size());
        MUST(stats.allocations == of.allocations);
        MUST(stats.frees == of.frees);
        MUST(stats.failures == of.failures);
        MUST(stats.in_use + stats.in_magazines <= stats.capacity);
        MUST(stats.peak >= stats.in_use);
        if (random_of_stop_++ % 4 == 0) {  // it empties the magazines, so not every time
            std::vector<void*> seen;
            egb_pool_each_block(
                of.pool,
                [](void* block, void* user) {
                    static_cast<std::vector<void*>*>(user)->push_back(block);
                },
                &seen
            );
            std::sort(seen.begin(), seen.end());
            MUST(seen == expected);
            MUST(stress::stats_of(of.pool).in_magazines == 0);
        }
    }

    void compare_all() const
    {
        std::size_t in_use = 0;
        for (const model_pool& one : all_->shared) {
            compare(one);
            in_use += one.allocations - one.frees;
        }
        for (const std::unique_ptr<model_pool>& one : all_->own) {
            if (one != nullptr) {
                compare(*one);
                in_use += one->allocations - one->frees;
            }
        }
        egb_pool_stats sum;
        MUST(egb_pool_get_subtree_stats({0, 0}, &sum) == EGB_OK);
        MUST(sum.in_use == in_use);
        for (const std::unique_ptr<model_pool>& one : all_->attic) {
            MUST(one->allocations == one->frees && !egb_pool_alive(one->pool));
        }
        all_->attic.clear();
    }

    world*                         all_;
    std::size_t                    self_;
    stress::random                 random_;
    std::uint64_t                  stamp_;
    std::array<open_cache, CACHES> caches_;
    mutable std::size_t            random_of_stop_ = 0;
};

void give_all_back(world* all)
{
    for (std::size_t i = 0; i < THREADS; i++) {
        std::vector<held>& hand = all->hands[i];
        hand.insert(hand.end(), all->mail[i].letters.begin(), all->mail[i].letters.end());
        for (const held& one : hand) {
            check(one);
            egb_pool_free(one.of->pool, one.block);
        }
    }
    for (const std::unique_ptr<model_pool>& own : all->own) {
        MUST(own == nullptr || egb_pool_destroy(own->pool, EGB_DESTROY_REFUSE) == EGB_OK);
    }
    for (std::size_t i = SHARED; i-- > 0;) {
        if (i != 3 && i != 4) {  // with their parent
            MUST(egb_pool_destroy(all->shared[i].pool, EGB_DESTROY_REFUSE) == EGB_OK);
        }
    }
    egb_pool_stats sum;
    MUST(egb_pool_get_subtree_stats({0, 0}, &sum) == EGB_OK);
    MUST(sum.pools == 0 && sum.in_use == 0);
}

}  // namespace

TEST(histories, agree_with_the_model)
{
    const stress::only_stale none(false);
    const std::uint64_t      first      = stress::setting("EGGBOX_STRESS_FIRST_SEED", 1);
    const std::uint64_t      seeds      = stress::setting("EGGBOX_STRESS_SEEDS", 2);
    const std::uint64_t      operations = stress::setting("EGGBOX_STRESS_OPERATIONS", 100000);
    for (std::uint64_t seed = first; seed < first + seeds; seed++) {
        std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
        std::fflush(stdout);
        const std::unique_ptr<world> all(new world);
        make_shared_pools(all.get());
        stress::in_threads(THREADS, [&](std::size_t self) {
            player(all.get(), self, seed).play(static_cast<std::size_t>(operations));
        });
        give_all_back(all.get());
    }
}
