// SPDX-License-Identifier: MIT
// Make N pools and drop all of them: a root with children, eight each, and theirs. `tree` takes no
// block; `tree_take` takes 16 blocks of each pool and drops them with the pools, none by itself.
// Time per pool. Rivals without trees make and drop N pools; malloc, which drops nothing at once,
// frees each block.
//
// `tree_cold` only makes them, in a process that had only one pool before: `faults` are its minor
// page faults per pool. `create_static` makes a pool on a region of 64 MiB that no one has touched:
// `pages` are in memory then. Expected: control blocks lie close together, less than a page each;
// of a region one page, the pool's own data, and at level "check" the byte for each block, cleared.
#include "rivals/all.hpp"

#include <memory>
#include <type_traits>
#include <vector>

namespace
{

using namespace bench;

constexpr std::size_t block_bytes = 64;
constexpr std::size_t taken_each  = 16;
constexpr std::size_t fan_out     = 8;

// ---- pools that stand in a tree -----------------------------------------------------------------

template <class Rival>
class tree
{
  public:
    explicit tree(std::size_t count) : pools_(count) {}

    void make()
    {
        for (std::size_t i = 0; i < pools_.size(); i++) {
            pools_[i] = std::make_unique<Rival>(place{nullptr, 0}, block_bytes, taken_each);
        }
    }

    void take()
    {
        for (const auto& pool : pools_) {
            for (std::size_t i = 0; i < taken_each; i++) {
                void* block    = pool->take();
                content(block) = i;
                keep(block);
            }
        }
    }

    void drop()
    {
        for (auto& pool : pools_) {
            pool.reset();
        }
    }

  private:
    std::vector<std::unique_ptr<Rival>> pools_;
};

template <bool Checked>
class tree<eggbox_pool_at<Checked>>
{
  public:
    explicit tree(std::size_t count) : pools_(count) {}

    void make()
    {
        for (std::size_t i = 0; i < pools_.size(); i++) {
            const egb_pool parent = i == 0 ? egb_pool{0, 0} : pools_[(i - 1) / fan_out];
            pools_[i]             = make_pool(block_bytes, eggbox_pool_at<Checked>::level, parent);
        }
    }

    void take()
    {
        for (const egb_pool pool : pools_) {
            for (std::size_t i = 0; i < taken_each; i++) {
                void* block    = egb_pool_alloc(pool);
                content(block) = i;
                keep(block);
            }
        }
    }

    void drop()
    {
        must(egb_pool_destroy(pools_[0], EGB_DESTROY_FORCE));
    }

  private:
    std::vector<egb_pool> pools_;
};

template <>
class tree<system_malloc>
{
  public:
    explicit tree(std::size_t count) : blocks_(count * taken_each) {}

    void make() {}

    void take()
    {
        for (std::size_t i = 0; i < blocks_.size(); i++) {
            void* block    = std::malloc(block_bytes);
            content(block) = i;
            keep(block);
            blocks_[i] = block;
        }
    }

    void drop()
    {
        for (void* const block : blocks_) {
            std::free(block);
        }
    }

  private:
    std::vector<void*> blocks_;
};

template <class Rival>
void run(benchmark::State& state, std::size_t count, bool takes)
{
    tree<Rival> pools(count);
    while (state.KeepRunningBatch(static_cast<benchmark::IterationCount>(count))) {
        pools.make();
        if (takes) {
            pools.take();
        }
        pools.drop();
    }
}

// For a process of its own: control blocks are new only once.
template <class Rival>
void run_cold(benchmark::State& state, std::size_t count)
{
    tree<Rival> one(1), pools(count);
    one.make();  // code, and the things there are once, are there then
    one.drop();
    std::size_t faults = page_faults();
    while (state.KeepRunningBatch(static_cast<benchmark::IterationCount>(count))) {
        pools.make();
    }
    faults                   = page_faults() - faults;
    state.counters["faults"] = static_cast<double>(faults) / static_cast<double>(count);
    pools.drop();
}

// ---- storage given to a pool --------------------------------------------------------------------

void run_static(benchmark::State& state, std::size_t bytes, egb_level level)
{
    const fresh      memory(bytes);
    egb_pool_options options{};
    options.block_bytes  = block_bytes;
    options.level        = level;
    options.memory       = memory.where().at;
    options.memory_bytes = bytes;
    egb_pool pool;
    must(egb_pool_create(&pool, &options));
    state.counters["pages"] = static_cast<double>(memory.resident_pages());
    must(egb_pool_destroy(pool, EGB_DESTROY_REFUSE));
    for (auto _ : state) {
        must(egb_pool_create(&pool, &options));
        must(egb_pool_destroy(pool, EGB_DESTROY_REFUSE));
    }
}

struct add_one {
    template <class Rival>
    void operator()(std::size_t count) const
    {
        const auto add = [count](const char* pattern, bool takes) {
            const std::string name = case_name(pattern, count, Rival::name);
            benchmark::RegisterBenchmark(name.c_str(), run<Rival>, count, takes);
        };
        if (!std::is_same_v<Rival, system_malloc>) {
            add("tree", false);
        }
        add("tree_take", true);
        if (!std::is_same_v<Rival, system_malloc>) {
            const std::string name = case_name("tree_cold", count, Rival::name);
            benchmark::RegisterBenchmark(name.c_str(), run_cold<Rival>, count)
                ->Iterations(static_cast<benchmark::IterationCount>(count));
        }
    }
};

}  // namespace

void bench::add_trees(scale size)
{
    using tree_rivals = joined<rivals<eggbox_pool, eggbox_pool_off>, rivals_of_all_sizes>;
    for (const std::size_t count : {1u, 100u, 1000u}) {
        if (size.smoke && count > 100) {
            break;
        }
        for_each(tree_rivals{}, add_one{}, count);
    }
    constexpr std::size_t bytes      = std::size_t{64} << 20;
    const auto            add_static = [=](const char* rival, egb_level level) {
        const std::string name = case_name("create_static", bytes, rival);
        benchmark::RegisterBenchmark(name.c_str(), run_static, bytes, level);
    };
    add_static(eggbox_pool::name, eggbox_pool::level);
    add_static(eggbox_pool_off::name, eggbox_pool_off::level);
}
