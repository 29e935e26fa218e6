// SPDX-License-Identifier: MIT
// Slots beside other containers that name their elements: nanoseconds for each element, of 32
// bytes, of a fill, an erase of all in random order, a lookup of all in random order, and a walk
// when all, half or a tenth of the elements are left.
//
// `packed` stands for EnTT, whose storage has this layout: a sparse array of places, and elements
// without gaps, which move when one is erased. Its walk is the fastest there can be. A colony has
// no handles: pointers take their place, and nobody notices a stale one.
//
//     eggbox_slots [google-benchmark's options | --smoke]
#include "eggbox/slots.hpp"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#if __has_include(<plf_colony.h>)
  #include <plf_colony.h>
  #define BENCH_WITH_COLONY 1
#else
  #define BENCH_WITH_COLONY 0
#endif

namespace
{

struct body {
    float         x, y, dx, dy;
    std::uint64_t number, other;
};

body body_of(std::uint64_t number)
{
    return {0, 0, 1, 2, number, 0};
}

// A rival has a handle, insert, erase, get, and each. `get` leads to the number of the element.
template <class Slots>
class slots_rival
{
  public:
    using handle = eggbox::handle<body>;

    handle insert(std::uint64_t number)
    {
        return all_->insert(body_of(number));
    }

    void erase(handle one)
    {
        all_->erase(one);
    }

    std::uint64_t get(handle one)
    {
        return all_->get(one)->number;
    }

    template <class Visit>
    void each(Visit visit)
    {
        all_->each([&visit](handle, body& one) { visit(one); });
    }

  private:
    std::unique_ptr<Slots> all_ = std::make_unique<Slots>();
};

struct in_place : slots_rival<eggbox::slots<body, 100000>> {
    static constexpr const char* name = "slots";
};

struct growing : slots_rival<eggbox::growing_slots<body>> {
    static constexpr const char* name = "growing_slots";
};

class packed
{
  public:
    static constexpr const char* name = "packed";

    struct handle {
        std::uint32_t index, generation;
    };

    handle insert(std::uint64_t number)
    {
        std::uint32_t index = static_cast<std::uint32_t>(sparse_.size());
        if (free_.empty()) {
            sparse_.push_back({0, 0});
        } else {
            index = free_.back();
            free_.pop_back();
        }
        place& at = sparse_[index];
        at.dense  = static_cast<std::uint32_t>(elements_.size());
        at.generation++;
        owners_.push_back(index);
        elements_.push_back(body_of(number));
        return {index, at.generation};
    }

    void erase(handle one)
    {
        place& at = sparse_[one.index];
        if (at.generation != one.generation) {
            return;
        }
        at.generation++;
        elements_[at.dense]           = elements_.back();
        owners_[at.dense]             = owners_.back();
        sparse_[owners_.back()].dense = at.dense;
        elements_.pop_back();
        owners_.pop_back();
        free_.push_back(one.index);
    }

    std::uint64_t get(handle one)
    {
        const place at = sparse_[one.index];
        return at.generation == one.generation ? elements_[at.dense].number : 0;
    }

    template <class Visit>
    void each(Visit visit)
    {
        for (body& one : elements_) {
            visit(one);
        }
    }

  private:
    struct place {
        std::uint32_t dense, generation;
    };

    std::vector<place>         sparse_;
    std::vector<std::uint32_t> owners_;
    std::vector<body>          elements_;
    std::vector<std::uint32_t> free_;
};

class map
{
  public:
    static constexpr const char* name = "unordered_map";
    using handle                      = std::uint64_t;

    handle insert(std::uint64_t number)
    {
        all_.emplace(next_, body_of(number));
        return next_++;
    }

    void erase(handle one)
    {
        all_.erase(one);
    }

    std::uint64_t get(handle one)
    {
        const auto found = all_.find(one);
        return found != all_.end() ? found->second.number : 0;
    }

    template <class Visit>
    void each(Visit visit)
    {
        for (auto& [key, one] : all_) {
            visit(one);
        }
    }

  private:
    std::unordered_map<handle, body> all_;
    handle                           next_ = 0;
};

#if BENCH_WITH_COLONY
class colony
{
  public:
    static constexpr const char* name = "plf::colony";
    using handle                      = plf::colony<body>::iterator;

    handle insert(std::uint64_t number)
    {
        return all_.insert(body_of(number));
    }

    void erase(handle one)
    {
        all_.erase(one);
    }

    std::uint64_t get(handle one)
    {
        return one->number;
    }

    template <class Visit>
    void each(Visit visit)
    {
        for (body& one : all_) {
            visit(one);
        }
    }

  private:
    plf::colony<body> all_;
};
#endif

bool failed = false;

// All rivals must do the same work: the sum of the numbers that they met.
void same(benchmark::State& state, std::uint64_t sum, std::uint64_t wanted)
{
    if (sum != wanted) {
        failed = true;
        state.SkipWithError("did other work");
    }
}

template <class Rival>
struct filled {
    explicit filled(std::size_t count) : order(count)
    {
        for (std::size_t i = 0; i < count; i++) {
            handles.push_back(rival.insert(i));
            order[i] = static_cast<std::uint32_t>(i);
        }
        std::shuffle(order.begin(), order.end(), std::minstd_rand(1));
    }

    Rival                               rival;
    std::vector<typename Rival::handle> handles;
    std::vector<std::uint32_t>          order;
};

// Times `work` alone, and counts the time of one element.
template <class Work>
void timed(benchmark::State& state, std::size_t elements, Work work)
{
    const auto start = std::chrono::steady_clock::now();
    work();
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
    state.SetIterationTime(spent.count() / static_cast<double>(elements));
}

// Half of the elements are in place when the other half is erased and inserted: no container is in
// its first, easy, life.
template <class Rival>
void run_change(benchmark::State& state, std::size_t count, bool erases)
{
    filled<Rival> all(count);
    const auto    half = count / 2;
    for (auto _ : state) {
        const auto erase = [&] {
            for (std::size_t i = 0; i < half; i++) {
                all.rival.erase(all.handles[all.order[i]]);
            }
        };
        const auto insert = [&] {
            for (std::size_t i = 0; i < half; i++) {
                all.handles[all.order[i]] = all.rival.insert(all.order[i]);
            }
        };
        if (erases) {
            timed(state, half, erase);
            insert();
        } else {
            erase();
            timed(state, half, insert);
        }
    }
    std::uint64_t sum = 0;
    all.rival.each([&](body& one) { sum += one.number; });
    same(state, sum, std::uint64_t{count} * (count - 1) / 2);
}

template <class Rival>
void run_get(benchmark::State& state, std::size_t count)
{
    filled<Rival> all(count);
    std::uint64_t sum = 0;
    for (auto _ : state) {
        sum = 0;
        timed(state, count, [&] {
            for (const std::uint32_t at : all.order) {
                sum += all.rival.get(all.handles[at]);
            }
            benchmark::DoNotOptimize(sum);
        });
    }
    same(state, sum, std::uint64_t{count} * (count - 1) / 2);
}

// One of `every` stays, at random places.
template <class Rival>
void run_walk(benchmark::State& state, std::size_t count, std::size_t every)
{
    filled<Rival>     all(count);
    std::uint64_t     wanted = 0;
    const std::size_t left   = count / every;
    for (std::size_t i = 0; i < count; i++) {
        if (i < left) {
            wanted += all.order[i];
        } else {
            all.rival.erase(all.handles[all.order[i]]);
        }
    }
    std::uint64_t sum = 0;
    for (auto _ : state) {
        sum = 0;
        timed(state, left, [&] {
            all.rival.each([&](body& one) {
                one.x += one.dx;
                one.y += one.dy;
                sum += one.number;
            });
            benchmark::DoNotOptimize(sum);
            benchmark::ClobberMemory();
        });
    }
    same(state, sum, wanted);
}

template <class Rival>
void enter(std::size_t count, double seconds)
{
    const auto add = [=](const char* what, auto run) {
        const std::string name =
            std::string(what) + "/" + Rival::name + "/" + std::to_string(count);
        benchmark::RegisterBenchmark(name.c_str(), run)
            ->UseManualTime()
            ->MinTime(seconds / static_cast<double>(count));  // the time of one element is counted
    };
    add("insert", [count](benchmark::State& state) { run_change<Rival>(state, count, false); });
    add("erase", [count](benchmark::State& state) { run_change<Rival>(state, count, true); });
    add("get", [count](benchmark::State& state) { run_get<Rival>(state, count); });
    add("walk_100", [count](benchmark::State& state) { run_walk<Rival>(state, count, 1); });
    add("walk_50", [count](benchmark::State& state) { run_walk<Rival>(state, count, 2); });
    add("walk_10", [count](benchmark::State& state) { run_walk<Rival>(state, count, 10); });
}

}  // namespace

int main(int argc, char** argv)
{
    std::vector<char*> arguments(argv, argv + argc);
    const auto smoke   = std::find_if(arguments.begin(), arguments.end(), [](const char* one) {
        return std::strcmp(one, "--smoke") == 0;
    });
    double     seconds = 0.1;  // time of each benchmark
    if (smoke != arguments.end()) {
        seconds = 0.0001;
        arguments.erase(smoke);
    }
    for (const std::size_t count : {std::size_t{1000}, std::size_t{100000}}) {
        enter<in_place>(count, seconds);
        enter<growing>(count, seconds);
        enter<packed>(count, seconds);
#if BENCH_WITH_COLONY
        enter<colony>(count, seconds);
#endif
        enter<map>(count, seconds);
    }
    int left = static_cast<int>(arguments.size());
    benchmark::Initialize(&left, arguments.data());
    if (benchmark::ReportUnrecognizedArguments(left, arguments.data())) {
        return 2;
    }
    benchmark::RunSpecifiedBenchmarks();
    return failed ? 1 : 0;
}
