// SPDX-License-Identifier: MIT
// Two threads or more: blocks that outlive the thread that took them, that are freed by another
// one, that lie in one cache line. A thread that waits polls, and lets the other one run now and
// then. Each thread does the same amount of work, however many there are.
//
// P. Larson and M. Krishnan, "Memory Allocation for Long-Running Server Applications", 1998.
// E. Berger and others, "Hoard: A Scalable Memory Allocator for Multithreaded Applications", 2000.
#include "../pin.hpp"
#include "heap.hpp"

#include <array>
#include <atomic>
#include <numeric>
#include <thread>
#include <vector>

namespace
{

using namespace heap_bench;

template <class Work>
std::uint64_t in_threads(std::size_t threads, const Work& work)
{
    std::vector<std::uint64_t> sums(threads);
    std::vector<std::thread>   running;
    for (std::size_t which = 0; which < threads; which++) {
        running.emplace_back([&, which] {
            bench::pin(which);
            sums[which] = work(which);
        });
    }
    for (std::thread& one : running) {
        one.join();
    }
    return std::accumulate(sums.begin(), sums.end(), std::uint64_t{0});
}

// ---- a queue between two threads ----------------------------------------------------------------

class queue
{
  public:
    void push(void* block)
    {
        const std::size_t at = pushed_.load(std::memory_order_relaxed);
        while (at - popped_.load(std::memory_order_acquire) == size) {
            std::this_thread::yield();
        }
        blocks_[at % size] = block;
        pushed_.store(at + 1, std::memory_order_release);
    }

    void* pop()
    {
        const std::size_t at = popped_.load(std::memory_order_relaxed);
        while (pushed_.load(std::memory_order_acquire) == at) {
            std::this_thread::yield();
        }
        void* const block = blocks_[at % size];
        popped_.store(at + 1, std::memory_order_release);
        return block;
    }

  private:
    static constexpr std::size_t size = 1024;

    alignas(128) std::atomic<std::size_t> pushed_{0};
    alignas(128) std::atomic<std::size_t> popped_{0};
    alignas(128) std::array<void*, size> blocks_{};
};

// ---- blocks on their way to whoever frees them --------------------------------------------------

struct bundle {
    static constexpr std::size_t count = 120;

    bundle*                           next = nullptr;
    std::array<unsigned char*, count> blocks{};
};

std::atomic<bundle*> bundles{nullptr};

void send(bundle* one)
{
    one->next = bundles.load(std::memory_order_relaxed);
    while (!bundles.compare_exchange_weak(one->next, one, std::memory_order_release)) {
    }
}

void free_all_sent()
{
    bundle* one = bundles.exchange(nullptr, std::memory_order_acquire);
    while (one != nullptr) {
        bundle* const next = one->next;
        for (unsigned char* block : one->blocks) {
            std::free(block);
        }
        delete one;
        one = next;
    }
}

// ---- a server -----------------------------------------------------------------------------------

std::array<std::atomic<unsigned char*>, 512> shared_objects{};

// A request takes some blocks, which go with it; one in four leaves a block with a session, one in
// eight one where another thread finds and frees it.
std::uint64_t serve(random_numbers& random, std::vector<unsigned char*>& sessions)
{
    std::array<unsigned char*, 24> own{};
    std::uint64_t                  sum = 0;
    for (unsigned char*& block : own) {
        const std::size_t bytes = random.bytes(16384);
        block                   = filled(bytes, 1);
        sum += bytes;
    }
    const std::uint64_t choice = random.next();
    if (choice % 4 == 0) {
        std::swap(own[0], sessions[random.below(sessions.size())]);
    }
    if (choice % 8 == 1) {
        std::atomic<unsigned char*>& place = shared_objects[random.below(shared_objects.size())];
        own[1]                             = place.exchange(own[1], std::memory_order_acq_rel);
    }
    for (unsigned char* block : own) {
        std::free(block);
    }
    return sum;
}

}  // namespace

// Each thread replaces random blocks of an array; then it ends, and a new one goes on with it.
std::uint64_t heap_bench::larson(scale size)
{
    return in_threads(size.threads, [&](std::size_t which) {
        random_numbers              random(17 + which);
        std::vector<unsigned char*> blocks(1000);
        std::uint64_t               sum = 0;
        for (std::size_t life = 0; life < 50; life++) {
            std::thread one([&] {
                for (std::size_t i = 0; i < size.of(100000); i++) {
                    unsigned char*&   victim = blocks[random.below(blocks.size())];
                    const std::size_t bytes  = 16 + random.below(1000);
                    std::free(victim);
                    victim = filled(bytes, 1);
                    sum += bytes;
                }
            });
            one.join();
        }
        for (unsigned char* block : blocks) {
            std::free(block);
        }
        return sum;
    });
}

// One thread of each two takes, the other one frees.
std::uint64_t heap_bench::handover(scale size)
{
    std::vector<queue> queues(size.threads / 2);
    const std::size_t  count = size.of(1500000);
    return in_threads(size.threads, [&](std::size_t which) {
        random_numbers random(19);
        queue&         between = queues[which / 2];
        std::uint64_t  sum     = 0;
        for (std::size_t i = 0; i < count; i++) {
            if (which % 2 == 0) {
                between.push(filled(random.bytes(1024), static_cast<unsigned char>(i)));
            } else {
                auto* const block = static_cast<unsigned char*>(between.pop());
                sum += *block;
                std::free(block);
            }
        }
        return sum;
    });
}

// Each thread takes bundles and frees the waiting ones, mostly other threads'.
std::uint64_t heap_bench::cross_free(scale size)
{
    const std::uint64_t sum = in_threads(size.threads, [&](std::size_t which) {
        random_numbers random(23 + which);
        std::uint64_t  taken = 0;
        for (std::size_t i = 0; i < size.of(20000); i++) {
            auto* const one = new bundle;
            for (unsigned char*& block : one->blocks) {
                const std::size_t bytes = random.bytes(512);
                block                   = filled(bytes, 1);
                taken += bytes;
            }
            send(one);
            if (i % (2 * size.threads) == which) {
                free_all_sent();
            }
        }
        return taken;
    });
    free_all_sent();
    return sum;
}

// Blocks taken side by side are written by a thread each, and replaced now and then: threads whose
// blocks share a cache line take it from each other.
std::uint64_t heap_bench::scratch(scale size)
{
    std::vector<unsigned char*> first(size.threads);
    for (unsigned char*& block : first) {
        block = filled(8, 1);
    }
    return in_threads(size.threads, [&](std::size_t which) {
        unsigned char* block = first[which];
        std::uint64_t  sum   = 0;
        for (std::size_t i = 0; i < size.of(400000); i++) {
            for (std::size_t k = 0; k < 1000; k++) {
                block[k % 8]++;
                keep(block);
            }
            sum += i;
            std::free(block);
            block = filled(8, 1);
            for (std::size_t k = 0; k < 8; k++) {
                block[k] = static_cast<unsigned char>(k);
            }
        }
        std::free(block);
        return sum;
    });
}

std::uint64_t heap_bench::server(scale size)
{
    const std::uint64_t sum = in_threads(size.threads, [&](std::size_t which) {
        random_numbers              random(29 + which);
        std::vector<unsigned char*> sessions(20000);
        std::uint64_t               served = 0;
        for (std::size_t i = 0; i < size.of(200000); i++) {
            served += serve(random, sessions);
        }
        for (unsigned char* block : sessions) {
            std::free(block);
        }
        return served;
    });
    for (std::atomic<unsigned char*>& place : shared_objects) {
        std::free(place.exchange(nullptr));
    }
    return sum;
}

// Buffers of 1 to 64 KiB, each page touched: a random one of many is replaced.
std::uint64_t heap_bench::buffers(scale size)
{
    return in_threads(size.threads, [&](std::size_t which) {
        random_numbers random(31 + which);
        return replace_paged(random, 500, size.of(2000000), [](random_numbers& numbers) {
            return 1024 + numbers.below(64512);
        });
    });
}

// Threads that come, use some sizes, and go.
std::uint64_t heap_bench::short_lives(scale size)
{
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < size.of(3000); i++) {
        sum += in_threads(size.threads, [](std::size_t which) {
            std::array<unsigned char*, 64> blocks{};
            for (std::size_t k = 0; k < blocks.size(); k++) {
                blocks[k] = filled(16 + 8 * k, static_cast<unsigned char>(which));
            }
            for (unsigned char* block : blocks) {
                std::free(block);
            }
            return blocks.size();
        });
    }
    return sum;
}
