// SPDX-License-Identifier: MIT
// The work of one thread, and of two or more at the same time, up to one for each processor, each
// on its own pool (`apart`) or on one pool for all (`together`): pairs, and batches of 1,000 that
// no thread's own store holds. Then blocks that change hands: one thread takes and the other gives
// back (`handover`), and arrays of blocks that go round, as in Larson's server (`larson`): one
// thread replaces the blocks that another one took.
//
// P. Larson and M. Krishnan, "Memory Allocation for Long-Running Server Applications", 1998.
//
// Expected: threads that share nothing take as long as one. Sharing shows in `together_batch`
// and `handover`. Times are wall time: see race.hpp.
#include "race.hpp"
#include "rivals/all.hpp"
#include "rivals/hand.hpp"

#include <memory>

namespace
{

using namespace bench;

constexpr std::size_t block_bytes = 64;

// ---- pairs and batches --------------------------------------------------------------------------

template <class Rival>
struct pairs {
    static constexpr std::size_t room = 8;

    hand<Rival> own;
    std::size_t count;

    __attribute__((noinline)) std::uint64_t run()
    {
        std::uint64_t hash = 0;
        for (std::size_t i = 0; i < count; i++) {
            void* block    = own.take();
            content(block) = i;
            keep(block);
            hash += content(block);
            own.give(block);
            settle();
        }
        return hash;
    }
};

template <class Rival>
struct batches {
    static constexpr std::size_t room = 1000;

    hand<Rival>        own;
    std::size_t        count;
    std::vector<void*> blocks = std::vector<void*>(room);

    __attribute__((noinline)) std::uint64_t run()
    {
        std::uint64_t hash = 0;
        for (std::size_t done = 0; done < count; done += room) {
            for (void*& place : blocks) {
                void* block    = own.take();
                content(block) = done;
                keep(block);
                place = block;
            }
            for (void* block : blocks) {
                keep(block);
                hash += content(block);
                own.give(block);
                settle();
            }
        }
        return hash;
    }
};

template <class Rival>
struct alignas(apart_bytes) own_rival {
    Rival rival{place{nullptr, 0}, block_bytes, 0};
};

// The loop without an allocator, over a few blocks of its own: two processors of this machine that
// share nothing, against one.
class none_apart : public none
{
  public:
    none_apart(place, std::size_t bytes, std::size_t)
        : none(place{memory_, sizeof memory_}, bytes, 8)
    {
    }

  private:
    alignas(apart_bytes) std::byte memory_[8 * block_bytes];
};

// Which case: its name without the rival's, its column, and the operations of each thread.
struct task {
    std::string work;
    std::size_t column;
    std::size_t count;
};

template <template <class> class Job, bool Apart, class Rival>
void run_alike(benchmark::State& state, const task& job)
{
    const std::size_t                              threads = job.column;
    std::vector<std::unique_ptr<own_rival<Rival>>> rivals(Apart ? threads : 1);
    for (auto& one : rivals) {
        one = std::make_unique<own_rival<Rival>>();
    }
    race_for(state, job.work, threads, job.count, [&](std::size_t which) {
        return Job<Rival>{hand<Rival>(rivals[Apart ? which : 0]->rival), job.count};
    });
}

// ---- one takes, the other gives back ------------------------------------------------------------

// A queue between two threads. Each thread reads the other's end only when its own copy of it is
// used up, and publishes its own end once for 32 blocks. The queue therefore costs little beside
// the blocks that go through it.
class queue
{
  public:
    void push(void* block)
    {
        patience patience;
        while (pushed_ - seen_popped_ == size) {
            seen_popped_ = popped_out_.load(std::memory_order_acquire);
            patience.wait();
        }
        blocks_[pushed_++ % size] = block;
        if (pushed_ % told_at_once == 0) {
            pushed_out_.store(pushed_, std::memory_order_release);
        }
    }

    void* pop()
    {
        patience patience;
        while (popped_ == seen_pushed_) {
            seen_pushed_ = pushed_out_.load(std::memory_order_acquire);
            patience.wait();
        }
        void* const block = blocks_[popped_++ % size];
        if (popped_ % told_at_once == 0) {
            popped_out_.store(popped_, std::memory_order_release);
        }
        return block;
    }

  private:
    static constexpr std::size_t size         = 512;
    static constexpr std::size_t told_at_once = 32;

    alignas(apart_bytes) std::size_t pushed_ = 0;
    std::size_t seen_popped_                 = 0;
    alignas(apart_bytes) std::size_t popped_ = 0;
    std::size_t seen_pushed_                 = 0;
    alignas(apart_bytes) std::atomic<std::size_t> pushed_out_{0};
    alignas(apart_bytes) std::atomic<std::size_t> popped_out_{0};
    alignas(apart_bytes) void* blocks_[size];
};

template <class Rival>
struct end_of_queue {
    hand<Rival> own;
    queue&      between;
    std::size_t count;
    bool        takes;

    __attribute__((noinline)) std::uint64_t run()
    {
        std::uint64_t hash = 0;
        for (std::size_t i = 0; i < count; i++) {
            if (takes) {
                void* block    = own.take();
                content(block) = i;
                keep(block);
                between.push(block);
            } else {
                void* block = between.pop();
                keep(block);
                hash = hash * 31 + content(block);
                own.give(block);
                settle();
            }
        }
        return hash;
    }
};

template <class Rival>
void run_handover(benchmark::State& state, const task& job)
{
    constexpr std::size_t room = 4096;  // for the rival that hands out blocks in turn
    Rival                 rival(warm(job.column * room), job.column, room);
    queue                 between;
    race_for(state, job.work, 2, job.count, [&](std::size_t which) {
        return end_of_queue<Rival>{hand<Rival>(rival), between, job.count, which == 0};
    });
}

// ---- arrays of blocks that go round -------------------------------------------------------------

constexpr std::size_t larson_live  = 1000;  // blocks of an array
constexpr std::size_t larson_swaps = 2000;  // until the arrays go on

struct alignas(apart_bytes) live_set {
    std::vector<void*> blocks;
    std::uint64_t      random = 1;
};

template <class Rival>
struct larson {
    hand<Rival>            own;
    std::vector<live_set>& sets;
    barrier&               turn;
    std::size_t            which;
    std::size_t            count;

    // The random numbers belong to the array, so that both runs, and all rivals, do the same.
    __attribute__((noinline)) std::uint64_t replace(live_set& set)
    {
        std::uint64_t hash = 0;
        for (std::size_t i = 0; i < larson_swaps; i++) {
            set.random     = set.random * 6364136223846793005u + 1442695040888963407u;
            void*& victim  = set.blocks[(set.random >> 32) * larson_live >> 32];
            void*  block   = own.take();
            content(block) = set.random;
            keep(block);
            hash = hash * 31 + content(victim);
            own.give(victim);
            settle();
            victim = block;
        }
        return hash;
    }

    std::uint64_t run()
    {
        live_set& first = sets[which];
        first.random    = which + 1;
        if (first.blocks.empty()) {
            first.blocks.resize(larson_live);
            for (void*& block : first.blocks) {
                block          = own.take();
                content(block) = 0;
            }
        }
        turn.wait();
        std::uint64_t hash = 0;
        for (std::size_t done = 0; done < count; done += larson_swaps) {
            hash = hash * 31 + replace(sets[(which + done / larson_swaps) % sets.size()]);
            turn.wait();
        }
        return hash;
    }
};

template <class Rival>
void run_larson(benchmark::State& state, const task& job)
{
    Rival                 rival(place{nullptr, 0}, block_bytes, 0);
    barrier               turn(job.column);
    std::vector<live_set> sets(job.column);
    race_for(state, job.work, job.column, job.count, [&](std::size_t which) {
        return larson<Rival>{hand<Rival>(rival), sets, turn, which, job.count};
    });
    hand<Rival> own(rival);
    for (const live_set& set : sets) {
        for (void* const block : set.blocks) {
            own.give(block);
        }
    }
}

// ---- all of them --------------------------------------------------------------------------------

// 1, 2, 4, ... threads, as many as there are processors, but 2 in any case.
std::vector<std::size_t> thread_counts()
{
    std::vector<std::size_t> counts{1, 2};
    while (2 * counts.back() <= std::thread::hardware_concurrency()) {
        counts.push_back(2 * counts.back());
    }
    return counts;
}

struct add_one {
    template <class Rival>
    void operator()(scale size) const
    {
        const std::size_t few = size.smoke ? 2000 : 400000;
        add("apart_pair", thread_counts(), few, Rival::name, run_alike<pairs, true, Rival>);
        add("together_pair", thread_counts(), few, Rival::name, run_alike<pairs, false, Rival>);
        add("apart_batch", thread_counts(), few, Rival::name, run_alike<batches, true, Rival>);
        add("together_batch", thread_counts(), few, Rival::name, run_alike<batches, false, Rival>);
        add("larson", thread_counts(), few, Rival::name, run_larson<Rival>);
        add_handover<Rival>(size);
    }

    static void add_none(scale size)
    {
        const std::size_t few = size.smoke ? 2000 : 400000;
        add("apart_pair", thread_counts(), few, none::name, run_alike<pairs, true, none_apart>);
    }

    // A multiple of the number of blocks that the queue publishes at once.
    template <class Rival>
    static void add_handover(scale size)
    {
        add("handover", {64, 1024}, size.smoke ? 1024 : 204800, Rival::name, run_handover<Rival>);
    }

  private:
    using run_one = void (*)(benchmark::State& state, const task& job);

    static void
    add(const char*              pattern,
        std::vector<std::size_t> columns,
        std::size_t              count,
        const char*              rival,
        run_one                  run)
    {
        for (const std::size_t column : columns) {
            const task job{case_name(pattern, column, ""), column, count};
            benchmark::RegisterBenchmark(
                case_name(pattern, column, rival).c_str(),
                [=](benchmark::State& state) { run(state, job); }
            )->UseManualTime();
        }
    }
};

}  // namespace

void bench::add_threads(scale size)
{
    add_one::add_handover<none>(size);
    add_one::add_none(size);
    for_each(shared_rivals{}, add_one{}, size);
}
