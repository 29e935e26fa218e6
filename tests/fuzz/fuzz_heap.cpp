// SPDX-License-Identifier: MIT
// Histories of the heap: every call, sizes up to some hundred thousand bytes, frees of every wrong
// kind. EGGBOX_CHECK says at which level.
#include "fuzzing.hpp"

#include "eggbox/heap.h"

#include <algorithm>
#include <vector>

namespace
{

using fuzz::require;

constexpr std::size_t blocks_max    = 60;
constexpr std::size_t bytes_out_max = std::size_t{4} << 20;

struct known {
    unsigned char* block;
    std::size_t    bytes;
    unsigned char  fill;
    bool           is_plain;  // of egb_malloc()
};

bool is_checked()
{
    const char* const level = std::getenv("EGGBOX_CHECK");
    return level == nullptr || std::strcmp(level, "off") != 0;
}

// It fills only both ends of large blocks, because the fill would take all the time.
constexpr std::size_t end_bytes = 256;

template <class Function>
void each_filled_byte(std::size_t bytes, Function&& use)
{
    for (std::size_t i = 0; i < std::min(bytes, end_bytes); i++) {
        use(i);
    }
    for (std::size_t i = bytes - std::min(bytes, end_bytes); i < bytes; i++) {
        use(i);
    }
}

class history
{
  public:
    explicit history(fuzz::input& in) : in_(in) {}

    history(const history&)            = delete;
    history& operator=(const history&) = delete;

    ~history()
    {
        while (!blocks_.empty()) {
            egb_free(remove(0).block);
        }
        fuzz::the_misuses().expect_none();
        egb_heap_stats numbers{};
        egb_pool_stats classes{};
        require(egb_heap_get_stats(&numbers) == EGB_OK, "there are numbers");
        require(numbers.large_in_use == 0, "no large block is left");
        const egb_pool heap = egb_heap_pool();
        if (heap.generation != 0) {
            require(egb_pool_get_subtree_stats(heap, &classes) == EGB_OK, "and more numbers");
            require(classes.in_use == 0, "no block is left");
        }
    }

    void run()
    {
        while (!in_.is_at_end()) {
            step();
            fuzz::the_misuses().expect_none();
        }
    }

  private:
    void step()
    {
        const unsigned what = in_.byte() % 32;
        if (what < 9) {
            take();
        } else if (what < 11) {
            take_zeroed();
        } else if (what < 13) {
            take_aligned();
        } else if (what < 18) {
            change();
        } else if (what < 26) {
            give();
        } else if (what == 26) {
            give_twice();
        } else if (what == 27) {
            give_astray();
        } else if (what == 28) {
            give_sized();
        } else if (what == 29) {
            (void)egb_heap_trim(in_.byte() * std::size_t{16384});
        } else if (what == 30) {
            refuse();
        } else {
            ask();
        }
    }

    std::size_t some_bytes()
    {
        switch (in_.below(8)) {
            case 0: return in_.below(40000);
            case 1: return (std::size_t{1} << in_.below(16)) + in_.below(3) - 1;
            case 2: return in_.below(300000);
            default: return in_.below(1200);
        }
    }

    void add(void* block, std::size_t bytes, bool is_plain = false)
    {
        require(block != nullptr, "there is memory");
        require(reinterpret_cast<std::uintptr_t>(block) % 16 == 0, "aligned to 16");
        require(egb_block_bytes(block) >= bytes, "and large enough");
        auto* const start = static_cast<unsigned char*>(block);
        for (const known& one : blocks_) {
            require(
                one.block + one.bytes <= start || start + bytes <= one.block,
                "no block is handed out twice"
            );
        }
        const known made = {start, bytes, ++number_, is_plain};
        each_filled_byte(bytes, [&](std::size_t i) { start[i] = made.fill; });
        blocks_.push_back(made);
        bytes_out_ += bytes;
    }

    bool is_full(std::size_t bytes) const
    {
        return blocks_.size() == blocks_max || bytes_out_ + bytes > bytes_out_max;
    }

    known remove(std::size_t which)
    {
        const known one = blocks_[which];
        blocks_[which]  = blocks_.back();
        blocks_.pop_back();
        bytes_out_ -= one.bytes;
        each_filled_byte(one.bytes, [&](std::size_t i) {
            require(one.block[i] == one.fill, "what is in a block stays");
        });
        return one;
    }

    known remove_some()
    {
        return remove(in_.below(blocks_max) % blocks_.size());
    }

    void take()
    {
        const std::size_t bytes = some_bytes();
        if (!is_full(bytes)) {
            add(egb_malloc(bytes), bytes, true);
        }
    }

    void take_zeroed()
    {
        const std::size_t count = 1 + in_.below(5);
        const std::size_t bytes = some_bytes();
        if (!is_full(count * bytes)) {
            auto* const block = static_cast<unsigned char*>(egb_calloc(count, bytes));
            each_filled_byte(count * bytes, [&](std::size_t i) {
                require(block[i] == 0, "calloc gives zeros");
            });
            add(block, count * bytes);
        }
    }

    void take_aligned()
    {
        const std::size_t align = std::size_t{1} << in_.below(18);
        const std::size_t bytes = some_bytes();
        if (!is_full(bytes)) {
            void* const block = egb_aligned_alloc(align, bytes);
            require(reinterpret_cast<std::uintptr_t>(block) % align == 0, "it is aligned");
            add(block, bytes);
        }
    }

    void change()
    {
        const std::size_t bytes = some_bytes();
        if (blocks_.empty() || is_full(bytes)) {
            return;
        }
        const known one   = remove_some();
        auto* const block = static_cast<unsigned char*>(egb_realloc(one.block, bytes));
        require(block != nullptr, "there is memory");
        const std::size_t both = std::min({one.bytes, bytes, end_bytes});
        for (std::size_t i = 0; i < both; i++) {
            require(block[i] == one.fill, "realloc keeps what is in both");
        }
        add(block, bytes);
    }

    void give()
    {
        if (!blocks_.empty()) {
            egb_free(remove_some().block);
        }
    }

    // A chunk or region may be gone in between, and then the block is nobody's.
    void give_twice()
    {
        if (is_checked() && !blocks_.empty()) {
            const known one = remove_some();
            egb_free(one.block);
            egb_free(one.block);
            fuzz::the_misuses().expect_one();
        }
    }

    void give_astray()
    {
        const std::size_t offset = 1 + in_.below(512);
        if (!is_checked() || blocks_.empty()) {
            return;
        }
        const known& one     = blocks_[in_.below(blocks_max) % blocks_.size()];
        auto* const  address = one.block + std::min(offset, one.bytes);
        for (const known& other : blocks_) {
            if (other.block == address) {
                return;
            }
        }
        if (in_.below(4) == 0) {
            require(egb_realloc(address, 10) == nullptr, "realloc refuses it as well");
        } else {
            egb_free(address);
        }
        fuzz::the_misuses().expect_one();
    }

    // As delete of C++, of what new gave.
    void give_sized()
    {
        if (blocks_.empty()) {
            return;
        }
        const known one = remove_some();
        one.is_plain ? egb_free_sized_(one.block, one.bytes) : egb_free(one.block);
    }

    void refuse()
    {
        require(egb_malloc(SIZE_MAX - in_.byte()) == nullptr, "too much is refused");
        require(egb_calloc(SIZE_MAX / 2, 2 + in_.byte()) == nullptr, "also as a product");
        require(egb_aligned_alloc(24, 100) == nullptr, "24 is no power of two");
    }

    void ask()
    {
        if (!blocks_.empty()) {
            const known&   one  = blocks_[in_.below(blocks_max) % blocks_.size()];
            const egb_pool pool = egb_pool_of(one.block);
            require(
                pool.generation == 0 || egb_pool_is_live(pool, one.block), "a block in use is live"
            );
        }
    }

    fuzz::input&       in_;
    std::vector<known> blocks_;
    std::size_t        bytes_out_ = 0;
    unsigned char      number_    = 0;
};

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count)
{
    fuzz::input in(bytes, count);
    fuzz::the_misuses().expect_none();
    history(in).run();
    return 0;
}
