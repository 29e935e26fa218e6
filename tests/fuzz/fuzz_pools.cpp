// SPDX-License-Identifier: MIT
// Histories of up to six pools: of all levels, in a tree, with limits and budgets, on static
// memory, with caches; alloc and free in every way, and every misuse that must be noticed. Beside
// them a model that knows which blocks are in use.
#include "fuzzing.hpp"
#include "pools_model.hpp"

#include "eggbox/guard.h"

#include <algorithm>
#include <memory>
#include <vector>

namespace
{

using fuzz::modelled;
using fuzz::require;

class history
{
  public:
    explicit history(fuzz::input& in) : in_(in) {}

    history(const history&)            = delete;
    history& operator=(const history&) = delete;

    // Each history leaves nothing behind, so that the next one is the same wherever it stands.
    ~history()
    {
        while (!pools_.empty()) {
            destroy(*pools_.front(), EGB_DESTROY_FORCE);
        }
        egb_pool_stats all{};
        require(egb_pool_get_subtree_stats(egb_pool{}, &all) == EGB_OK, "the root is there");
        require(all.pools == 0 && all.bytes_held == 0, "destroy leaves nothing behind");
    }

    void run()
    {
        create();
        while (!in_.is_at_end()) {
            step();
            fuzz::the_misuses().expect_none();
        }
        for (const auto& one : pools_) {
            one->compare();
        }
    }

  private:
    void step()
    {
        const unsigned what = in_.byte();
        if (pools_.empty() || (what >= 250 && pools_.size() < 6)) {
            create();
            return;
        }
        modelled& one = *pools_[what % 8 % pools_.size()];
        switch (what / 8) {
            case 0:
            case 1:
            case 2:
            case 3:
            case 4:
            case 5:
            case 6:
            case 7: one.take(by_cache()); break;
            case 8:
            case 9:
            case 10:
            case 11:
            case 12: one.give(in_.byte(), way_of(in_.byte())); break;
            case 13: one.take_many(1 + in_.below(40)); break;
            case 14: one.give_many(1 + in_.below(40)); break;
            case 15: one.give_again(in_.byte()); break;
            case 16: one.give_astray(in_.byte(), in_.below(8192)); break;
            case 17: give_to_other(one); break;
            case 18: one.write_behind(in_.byte(), in_.byte(), false); break;
            case 19: one.write_behind(in_.byte(), in_.byte(), true); break;
            case 20: one.write_before(in_.byte(), in_.below(16)); break;
            case 21: one.write_free(in_.byte(), in_.below(8192)); break;
            case 22: one.toggle_cache(); break;
            case 23: one.trim(in_.byte() * std::size_t{1024}); break;
            case 24: one.reserve(in_.below(70)); break;
            case 25: one.look_at_blocks(); break;
            case 26: one.ask(in_.byte()); break;
            case 27: use_stale(); break;
            case 28: destroy(one, EGB_DESTROY_FORCE); return;
            case 29: destroy(one, EGB_DESTROY_REFUSE); return;
            default: one.compare(); break;
        }
    }

    bool by_cache()
    {
        return in_.below(4) == 0;
    }

    static fuzz::freeing way_of(unsigned byte)
    {
        return static_cast<fuzz::freeing>(byte % 4);
    }

    void create()
    {
        static const std::size_t sizes[]  = {1, 8, 24, 40, 64, 200, 1000, 5000};
        static const egb_level   levels[] = {
            EGB_LEVEL_OFF, EGB_LEVEL_CHECK, EGB_LEVEL_GUARD, EGB_LEVEL_TRACK
        };

        auto              made    = std::make_unique<modelled>();
        egb_pool_options& options = made->options;
        options.block_bytes       = sizes[in_.below(8)];
        options.level             = levels[in_.below(4)];
        const unsigned bits       = in_.byte();
        options.flags             = (bits & 1) != 0 ? EGB_CACHE_LINE : 0;
        options.max_blocks        = (bits & 2) != 0 ? 1 + in_.below(100) : 0;
        options.budget_bytes      = (bits & 4) != 0 ? 65536 * (1 + in_.below(5)) : 0;
        if ((bits & 8) != 0) {
            options.memory_bytes = 1 + in_.below(fuzz::memory_bytes_max);
            options.memory       = made->get_memory(in_.below(64));
        }
        if ((bits & 16) != 0 && !pools_.empty()) {
            made->parent   = pools_.back().get();
            options.parent = made->parent->pool;
        }
        const egb_status status = egb_pool_create(&made->pool, &options);
        require(
            status == EGB_OK || (options.memory != nullptr && status == EGB_INVALID),
            "the pool is made"
        );
        if (status == EGB_OK) {
            made->level = options.level;
            pools_.push_back(std::move(made));
        }
    }

    static bool is_below(const modelled* below, const modelled* above)
    {
        while (below != nullptr && below != above) {
            below = below->parent;
        }
        return below != nullptr;
    }

    void destroy(modelled& one, egb_destroy how)
    {
        std::size_t in_use = 0;
        for (const auto& other : pools_) {
            in_use += is_below(other.get(), &one) ? other->live.size() : 0;
        }
        if (how == EGB_DESTROY_FORCE) {
            in_use = 0;
            give_back_tracked(one);
        }
        const bool       is_busy = in_use != 0;
        const egb_status status  = egb_pool_destroy(one.pool, how);
        require(status == (is_busy ? EGB_BUSY : EGB_OK), "destroy says whether it did");
        if (is_busy) {
            one.compare();
            return;
        }
        stale_                           = one.pool;
        const modelled* const        top = &one;
        std::vector<const modelled*> going;
        for (const auto& other : pools_) {
            if (is_below(other.get(), top)) {
                going.push_back(other.get());
                other->end();
            }
        }
        pools_.erase(
            std::remove_if(
                pools_.begin(),
                pools_.end(),
                [&](const auto& other) {
                    return std::find(going.begin(), going.end(), other.get()) != going.end();
                }
            ),
            pools_.end()
        );
    }

    // Otherwise the library would print the live allocations by site.
    void give_back_tracked(const modelled& top)
    {
        for (const auto& other : pools_) {
            if (is_below(other.get(), &top) && other->level == EGB_LEVEL_TRACK) {
                other->give_many(other->live.size());
            }
        }
    }

    void use_stale()
    {
        if (stale_.generation == 0) {
            return;
        }
        require(!egb_pool_alive(stale_), "a destroyed pool is gone");
        require(egb_pool_alloc(stale_) == nullptr, "and gives nothing");
        fuzz::the_misuses().expect(EGB_MISUSE_STALE);
        egb_pool_free(stale_, this);
        fuzz::the_misuses().expect(EGB_MISUSE_STALE);
    }

    // At level "off" nothing is promised of a block of another pool.
    void give_to_other(modelled& one)
    {
        modelled& other = *pools_[in_.below(pools_.size())];
        if (other.live.empty() || &other == &one || one.level == EGB_LEVEL_OFF) {
            return;
        }
        egb_pool_free(one.pool, other.live[in_.below(other.live.size())].block);
        fuzz::the_misuses().expect(EGB_MISUSE_WRONG_POOL);
    }

    fuzz::input&                           in_;
    std::vector<std::unique_ptr<modelled>> pools_;
    egb_pool                               stale_{};
};

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count)
{
    fuzz::input in(bytes, count);
    fuzz::the_misuses().expect_none();
    history(in).run();
    return 0;
}
