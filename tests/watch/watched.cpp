// SPDX-License-Identifier: MIT
// Uses blocks, and one of them when it is free, or when its pool is no more, for a tool to notice:
// watched.py says which tool.
//
//     usage: watched FAULT LEVEL       LEVEL: as in egb_pool_options.check, "static", "heap",
//                                      "large", "zero" (EGB_FRESH_ZERO) or "zero_guard"
#include "eggbox/heap.h"
#include "levels.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace
{

constexpr std::size_t block_bytes = 48;

alignas(16) char static_memory[8192];

bool is_zero(const std::string& level)
{
    return level.rfind("zero", 0) == 0;
}

bool is_level(const std::string& level)
{
    return level != "default" && level != "static";
}

// A pool, or the heap.
class source
{
  public:
    explicit source(const std::string& level) : is_heap_(level == "heap")
    {
        egb_pool_options options{};
        options.block_bytes = block_bytes;
        options.level       = level_named(is_level(level) ? level.c_str() : nullptr);
        if (is_zero(level)) {
            options.flags = EGB_FRESH_ZERO;
            options.level = level_named(level == "zero_guard" ? "guard" : nullptr);
        }
        if (level == "static") {
            options.memory       = static_memory;
            options.memory_bytes = sizeof static_memory;
        }
        if (!is_heap_ && egb_pool_create(&pool_, &options) != EGB_OK) {
            std::exit(3);
        }
    }

    char* take(std::size_t bytes = block_bytes)
    {
        auto* const block =
            static_cast<char*>(is_heap_ ? egb_malloc(bytes) : egb_pool_alloc(pool_));
        if (block == nullptr) {
            std::exit(4);
        }
        return block;
    }

    void give(char* block)
    {
        is_heap_ ? egb_free(block) : egb_pool_free(pool_, block);
    }

    // Correct uses must not be reported: use again, trim, destroy, and the memory afterwards.
    void use_rightly(std::size_t bytes)
    {
        for (int round = 0; round < 3; round++) {
            char* blocks[100];
            for (char*& block : blocks) {
                block = take(bytes);
                std::memset(block, 1, bytes);
            }
            for (char* const block : blocks) {
                give(block);
            }
            (void)(is_heap_ ? egb_heap_trim(0) : egb_pool_trim(pool_, 0));
        }
    }

    void end()
    {
        if (!is_heap_ && egb_pool_destroy(pool_, EGB_DESTROY_FORCE) != EGB_OK) {
            std::exit(5);
        }
        std::memset(static_memory, 2, sizeof static_memory);
    }

  private:
    egb_pool pool_{};
    bool     is_heap_;
};

volatile char seen;

// Memory that nobody had is zero, and may be read.
void read_fresh(source* from)
{
    char* const block = from->take();
    for (std::size_t i = 0; i < block_bytes; i++) {
        if (block[i] != 0) {
            std::exit(7);
        }
    }
    from->give(block);
}

void use_after_end(source* from, std::size_t bytes)
{
    char* const block = from->take(bytes);
    from->end();
    seen = block[bytes / 2];
}

void misuse(source* from, const std::string& fault, std::size_t bytes)
{
    char* const block = from->take(bytes);
    std::memset(block, 1, bytes);
    from->give(block);
    if (fault == "read") {
        seen = block[bytes / 2];
    } else if (fault == "write") {
        block[bytes / 2] = 7;
    } else if (fault == "read_first") {
        seen = block[0];
    } else if (fault != "none") {
        std::exit(6);
    }
}

}  // namespace

int main(int count, char** arguments)
{
    if (count != 3) {
        std::fprintf(stderr, "usage: %s FAULT LEVEL\n", arguments[0]);
        return 2;
    }
    const std::string fault    = arguments[1];
    const bool        is_large = std::strcmp(arguments[2], "large") == 0;
    source            from(is_large ? "heap" : arguments[2]);
    const std::size_t bytes = is_large ? 200000 : block_bytes;
    if (is_zero(arguments[2])) {
        read_fresh(&from);
    }
    from.use_rightly(bytes);
    if (fault == "destroyed") {
        use_after_end(&from, bytes);
    } else {
        misuse(&from, fault, bytes);
        from.end();
    }
    std::printf("nobody noticed\n");
    return 0;
}
