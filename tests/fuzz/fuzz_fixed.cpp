// SPDX-License-Identifier: MIT
// Histories of a fixed pool in each of its modes, and of a growing pool, beside a model of the
// blocks in use and the free blocks. In some histories free blocks are overwritten. Then nobody
// knows what alloc gives, but it is no block that is in use.
#include "fuzzing.hpp"

#include "eggbox/growing.h"

#include <array>
#include <vector>

namespace
{

using fuzz::require;

enum class state : std::uint8_t { fresh, live, free };

// ---- the fixed pool -----------------------------------------------------------------------------

constexpr std::size_t count_max       = 16;
constexpr std::size_t block_bytes_max = 64;

enum class way { marked, live_bits, unchecked, outside };

class fixed_history
{
  public:
    explicit fixed_history(fuzz::input& in) : in_(in)
    {
        static const std::size_t sizes[] = {4, 8, 12, 24, 64};

        made_        = static_cast<way>(in_.below(4));
        block_bytes_ = sizes[in_.below(5)];
        if (made_ == way::unchecked && block_bytes_ < sizeof(void*)) {
            block_bytes_ = sizeof(void*);
        }
        count_ = 1 + in_.below(count_max);
        std::memset(region_.data(), 0xC7, sizeof region_);
        std::memset(bits_.data(), 0xFF, sizeof bits_);
        require(init() == EGB_OK, "the pool is made");
        // Blocks of 4 bytes do not promise it, and unchecked pools nothing.
        may_damage_ =
            in_.below(2) == 1 && made_ != way::unchecked && (has_bits() || block_bytes_ > 4);
    }

    void run()
    {
        while (!in_.is_at_end()) {
            step();
            fuzz::the_misuses().expect_none();
            compare();
        }
    }

  private:
    bool has_bits() const
    {
        return made_ == way::live_bits || made_ == way::outside;
    }

    egb_status init()
    {
        const std::size_t bytes = count_ * block_bytes_;
        switch (made_) {
            case way::live_bits:
                return egb_fixed_init_checked(
                    &pool_, region_.data(), bytes, block_bytes_, bits_.data(), sizeof bits_
                );
            case way::outside:
                return egb_fixed_init_outside(
                    &pool_, region_.data(), bytes, block_bytes_, bits_.data(), sizeof bits_
                );
            case way::unchecked:
                return egb_fixed_init_unchecked(&pool_, region_.data(), bytes, block_bytes_);
            default: return egb_fixed_init(&pool_, region_.data(), bytes, block_bytes_);
        }
    }

    unsigned char* at(std::size_t index)
    {
        return reinterpret_cast<unsigned char*>(region_.data()) + index * block_bytes_;
    }

    void step()
    {
        const unsigned what = in_.byte() % 16;
        if (what < 6) {
            alloc();
        } else if (what < 11) {
            free_at(in_.below(count_) * block_bytes_);
        } else if (what == 11) {
            free_at(in_.below(2 * sizeof region_));
        } else if (what == 12) {
            resize(in_.below(count_max + 1));
        } else if (what == 13) {
            clear();
        } else if (what == 14) {
            look_like_free(in_.below(count_));
        } else {
            damage(in_.below(count_));
        }
    }

    void alloc()
    {
        void* const block =
            made_ == way::unchecked ? egb_fixed_alloc_unchecked(&pool_) : egb_fixed_alloc(&pool_);
        if (is_damaged_) {
            fuzz::the_misuses().allow(EGB_MISUSE_OVERWRITTEN);
        }
        if (block == nullptr) {
            const bool may_lose = is_damaged_ && !has_bits();
            require(may_lose || live_ == count_, "NULL when all are in use");
            return;
        }
        const auto offset = static_cast<std::size_t>(static_cast<unsigned char*>(block) - at(0));
        const auto index  = offset / block_bytes_;
        require(offset % block_bytes_ == 0 && index < count_, "alloc gives a block");
        require(states_[index] != state::live, "that is not in use");
        if (!is_damaged_) {
            require(
                free_.empty() ? index == touched_ : index == free_.back(), "the block freed last"
            );
        }
        if (states_[index] == state::fresh) {
            touched_ = index + 1 > touched_ ? index + 1 : touched_;
        } else if (!is_damaged_) {
            free_.pop_back();
        }
        states_[index] = state::live;
        fills_[index]  = static_cast<unsigned char>(in_.byte());
        marked_[index] = false;
        live_++;
        std::memset(block, fills_[index], block_bytes_);
    }

    void free_at(std::size_t offset)
    {
        const std::size_t index    = offset / block_bytes_;
        const bool        is_start = offset % block_bytes_ == 0;
        auto* const       address  = reinterpret_cast<unsigned char*>(
            reinterpret_cast<std::uintptr_t>(region_.data()) + offset
        );
        if (is_start && index < count_ && states_[index] == state::live) {
            expect_filled(index);
            made_ == way::unchecked ? egb_fixed_free_unchecked(&pool_, address)
                                    : egb_fixed_free(&pool_, address);
            states_[index] = state::free;
            live_--;
            if (!is_damaged_) {
                free_.push_back(index);
            }
        } else if (has_bits() || (made_ == way::marked && !is_damaged_)) {
            egb_fixed_free(&pool_, address);
            fuzz::the_misuses().expect(kind_of(index, is_start));
        }
    }

    egb_misuse_kind kind_of(std::size_t index, bool is_start) const
    {
        if (index >= count_) {
            return EGB_MISUSE_FOREIGN;
        }
        if (!is_start) {
            return EGB_MISUSE_INTERIOR;
        }
        return states_[index] == state::fresh ? EGB_MISUSE_NEVER_ALLOCATED : EGB_MISUSE_DOUBLE_FREE;
    }

    void resize(std::size_t count)
    {
        const egb_status status = egb_fixed_resize(&pool_, count * block_bytes_);
        const egb_status right  = count == 0 ? EGB_INVALID : count < touched_ ? EGB_BUSY : EGB_OK;
        require(status == right, "resize says what it must");
        if (status == EGB_OK) {
            count_ = count;
        }
    }

    void clear()
    {
        egb_fixed_clear(&pool_);
        states_.fill(state::fresh);
        free_.clear();
        touched_    = 0;
        live_       = 0;
        is_damaged_ = false;
    }

    // Data that could be ours, in a block in use. A list that leads astray may have any result.
    void look_like_free(std::size_t index)
    {
        if (states_[index] != state::live || may_damage_ || block_bytes_ < 8) {
            return;
        }
        const std::uint32_t mark = EGB_FIXED_MARK_;
        std::memset(at(index), 0, block_bytes_);
        std::memcpy(at(index) + 4, &mark, sizeof mark);
        marked_[index] = true;
    }

    void damage(std::size_t index)
    {
        if (!may_damage_ || states_[index] != state::free) {
            return;
        }
        const std::uint32_t link =
            in_.below(2) == 0 ? static_cast<std::uint32_t>(in_.below(2 * count_) * block_bytes_ / 4)
                              : static_cast<std::uint32_t>(in_.byte() * UINT32_C(0x01010101));
        std::memcpy(at(index), &link, sizeof link);
        if (block_bytes_ >= 8 && in_.below(4) == 0) {
            at(index)[4 + in_.below(4)] = static_cast<unsigned char>(in_.byte());
        }
        is_damaged_ = made_ != way::outside;  // there nothing of the pool's is in a block
    }

    void expect_filled(std::size_t index)
    {
        for (std::size_t i = 0; !marked_[index] && i < block_bytes_; i++) {
            require(at(index)[i] == fills_[index], "what is in a block stays");
        }
        marked_[index] = false;
    }

    void compare()
    {
        require(egb_fixed_capacity(&pool_) == count_, "the capacity is known");
        if (is_damaged_) {
            require(!has_bits() || egb_fixed_in_use(&pool_) == live_, "bits are the truth");
            return;
        }
        require(egb_fixed_whole(&pool_), "the pool is whole");
        require(egb_fixed_in_use(&pool_) == live_, "the count is right");
        require(egb_fixed_touched(&pool_) == touched_, "the peak is right");
    }

    fuzz::input&                         in_;
    way                                  made_        = way::marked;
    std::size_t                          block_bytes_ = 0;
    std::size_t                          count_       = 0;
    std::size_t                          touched_     = 0;
    std::size_t                          live_        = 0;
    bool                                 may_damage_  = false;
    bool                                 is_damaged_  = false;
    std::array<state, count_max>         states_{};
    std::array<unsigned char, count_max> fills_{};
    std::array<bool, count_max>          marked_{};
    std::vector<std::size_t>             free_;  // the newest last
    egb_fixed                            pool_{};

    alignas(64) std::array<std::uint32_t, count_max * block_bytes_max / 4> region_;
    std::array<std::uint32_t, EGB_FIXED_OUTSIDE_BYTES(count_max) / 4> bits_;
};

// ---- the growing pool ---------------------------------------------------------------------------

// Twelve ranges of 512 bytes. Some of them may form one longer range.
class arena
{
  public:
    static constexpr std::size_t range_bytes = 512;
    static constexpr std::size_t ranges      = 12;

    egb_backing get(bool is_zeroed)
    {
        is_zeroed_ = is_zeroed;
        return {reserve, nullptr, give_back, this, 64, is_zeroed, 0};
    }

    std::size_t bytes() const
    {
        std::size_t sum = 0;
        for (const std::size_t length : lengths_) {
            sum += length * range_bytes;
        }
        return sum;
    }

    bool has(const void* address, std::size_t length) const
    {
        const auto offset = reinterpret_cast<std::uintptr_t>(address) -
                            reinterpret_cast<std::uintptr_t>(memory_.data());
        return offset < memory_.size() && offset + length <= memory_.size();
    }

  private:
    std::size_t room_from(std::size_t first) const
    {
        std::size_t room = 0;
        while (first + room < ranges && lengths_[first + room] == 0) {
            room++;
        }
        return room;
    }

    static void* reserve(void* user, std::size_t least, std::size_t* bytes)
    {
        auto* const       self   = static_cast<arena*>(user);
        const std::size_t wanted = (least + range_bytes - 1) / range_bytes;
        for (std::size_t first = 0; first < ranges; first++) {
            if (self->is_head_[first]) {
                first += self->lengths_[first] - 1;
            } else if (self->room_from(first) >= wanted) {
                return self->take(first, wanted, bytes);
            }
        }
        return nullptr;
    }

    void* take(std::size_t first, std::size_t length, std::size_t* bytes)
    {
        lengths_[first] = length;
        is_head_[first] = true;
        *bytes          = length * range_bytes;
        void* const at  = memory_.data() + first * range_bytes;
        std::memset(at, is_zeroed_ ? 0 : 0xC7, *bytes);
        return at;
    }

    static void give_back(void* user, void* region, std::size_t bytes)
    {
        auto* const self = static_cast<arena*>(user);
        const auto  offset =
            static_cast<std::size_t>(static_cast<unsigned char*>(region) - self->memory_.data());
        const std::size_t first = offset / range_bytes;
        require(
            offset % range_bytes == 0 && self->is_head_[first] &&
                self->lengths_[first] * range_bytes == bytes,
            "what is given back is what was lent"
        );
        self->lengths_[first] = 0;
        self->is_head_[first] = false;
    }

    bool                            is_zeroed_ = false;
    std::array<std::size_t, ranges> lengths_{};
    std::array<bool, ranges>        is_head_{};
    alignas(64) std::array<unsigned char, ranges * range_bytes> memory_;
};

class growing_history
{
  public:
    explicit growing_history(fuzz::input& in) : in_(in)
    {
        static const std::size_t sizes[] = {4, 8, 24, 64, 120};

        egb_growing_options options{};
        options.block_bytes = block_bytes_ = sizes[in_.below(5)];
        options.max_blocks = max_blocks_ = in_.below(2) == 0 ? 0 : 1 + in_.below(40);
        options.chunk_bytes              = 1 + in_.below(4) * 400;
        options.chunk_bytes_max          = options.chunk_bytes + in_.below(2) * 1000;
        options.with_states              = in_.below(2) == 1;
        options.lead_bytes               = in_.below(2) * options.block_bytes;
        options.backing                  = arena_.get(in_.below(2) == 1);
        may_damage_                      = in_.below(2) == 1 && block_bytes_ > 4;
        require(egb_growing_init(&pool_, &options) == EGB_OK, "the pool is made");
    }

    growing_history(const growing_history&)            = delete;
    growing_history& operator=(const growing_history&) = delete;

    ~growing_history()
    {
        egb_growing_destroy(&pool_);
        require(arena_.bytes() == 0, "destroy gives everything back");
    }

    void run()
    {
        while (!in_.is_at_end()) {
            step();
            fuzz::the_misuses().expect_none();
            require(egb_growing_in_use(&pool_) == live_.size(), "the count is right");
            require(egb_growing_held(&pool_) == arena_.bytes(), "bytes are counted");
            require(is_damaged_ || egb_growing_whole(&pool_), "the pool is whole");
        }
    }

  private:
    struct held {
        unsigned char* block;
        unsigned char  fill;
    };

    void step()
    {
        const unsigned what = in_.byte() % 16;
        if (what < 7) {
            alloc();
        } else if (what < 11) {
            free_one();
        } else if (what == 11) {
            free_again();
        } else if (what == 12) {
            free_wrong();
        } else if (what == 13) {
            trim();
        } else if (what == 14) {
            reserve();
        } else {
            damage();
        }
    }

    void alloc()
    {
        auto* const block = static_cast<unsigned char*>(egb_growing_alloc(&pool_));
        if (is_damaged_) {
            fuzz::the_misuses().allow(EGB_MISUSE_OVERWRITTEN);
        }
        const bool is_full = max_blocks_ != 0 && live_.size() == max_blocks_;
        require(block == nullptr || !is_full, "the limit is kept");
        if (block == nullptr) {
            require(
                is_full || is_damaged_ || egb_growing_capacity(&pool_) == live_.size(),
                "NULL when all are in use"
            );
            return;
        }
        require(arena_.has(block, block_bytes_), "alloc gives a block");
        for (const held& one : live_) {
            require(
                one.block + block_bytes_ <= block || block + block_bytes_ <= one.block,
                "that is not in use"
            );
        }
        forget(block);
        live_.push_back({block, static_cast<unsigned char>(in_.byte())});
        std::memset(block, live_.back().fill, block_bytes_);
    }

    void forget(const unsigned char* block)
    {
        for (std::size_t i = 0; i < freed_.size(); i++) {
            if (freed_[i] == block) {
                freed_[i] = freed_.back();
                freed_.pop_back();
            }
        }
    }

    void free_one()
    {
        if (live_.empty()) {
            return;
        }
        const std::size_t which = in_.below(live_.size());
        const held        one   = live_[which];
        for (std::size_t i = 0; i < block_bytes_; i++) {
            require(one.block[i] == one.fill, "what is in a block stays");
        }
        live_[which] = live_.back();
        live_.pop_back();
        freed_.push_back(one.block);
        egb_growing_free(&pool_, one.block);
    }

    void free_again()
    {
        if (!freed_.empty() && !is_damaged_) {
            egb_growing_free(&pool_, freed_[in_.below(freed_.size())]);
            fuzz::the_misuses().expect(EGB_MISUSE_DOUBLE_FREE);
        }
    }

    void free_wrong()
    {
        if (!live_.empty()) {
            const std::size_t which = in_.below(live_.size());
            egb_growing_free(&pool_, live_[which].block + 1 + in_.below(block_bytes_ - 1));
            fuzz::the_misuses().expect(EGB_MISUSE_INTERIOR);
        }
        egb_growing_free(&pool_, this);
        fuzz::the_misuses().expect(EGB_MISUSE_FOREIGN);
    }

    void trim()
    {
        const std::size_t before = egb_growing_held(&pool_);
        const std::size_t keep   = in_.byte() * std::size_t{32};
        const std::size_t gone   = egb_growing_trim(&pool_, keep);
        require(gone == 0 || before - gone >= keep, "trim keeps what it is told to");
        for (std::size_t i = freed_.size(); i-- != 0;) {
            if (!egb_growing_owns(&pool_, freed_[i])) {
                freed_[i] = freed_.back();
                freed_.pop_back();
            }
        }
    }

    void reserve()
    {
        const std::size_t count  = in_.below(30);
        const egb_status  status = egb_growing_reserve(&pool_, count);
        if (max_blocks_ != 0 && live_.size() + count > max_blocks_) {
            require(status == EGB_LIMIT, "a limit is no lack of memory");
        } else if (status == EGB_OK && !is_damaged_) {
            require(egb_growing_capacity(&pool_) >= live_.size() + count, "reserve gets them");
        }
    }

    void damage()
    {
        if (may_damage_ && !freed_.empty()) {
            unsigned char* const block = freed_[in_.below(freed_.size())];
            block[in_.below(8)]        = static_cast<unsigned char>(in_.byte());
            is_damaged_                = true;
        }
    }

    fuzz::input&                in_;
    arena                       arena_;
    egb_growing                 pool_{};
    std::size_t                 block_bytes_ = 0;
    std::size_t                 max_blocks_  = 0;
    bool                        may_damage_  = false;
    bool                        is_damaged_  = false;
    std::vector<held>           live_;
    std::vector<unsigned char*> freed_;  // and not handed out again
};

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count)
{
    fuzz::input in(bytes, count);
    fuzz::the_misuses().expect_none();
    if (in.below(2) == 0) {
        fixed_history(in).run();
    } else {
        growing_history(in).run();
    }
    return 0;
}
