// SPDX-License-Identifier: MIT
// D. Lafreniere's C_Allocator: fb_allocator with one pool for both sizes, and x_allocator with a
// pool for each, against malloc.
#include "described.hpp"
#include "phases.hpp"

#include "eggbox/compat/fb_allocator.h"
#include "eggbox/compat/x_allocator.h"

namespace
{

using namespace originals;

ALLOC_DEFINE(both, 4096, document_blocks)
ALLOC_DEFINE(both_small, stm32_bytes, 2 * stm32_count)

ALLOC_DEFINE(bm2048, 2048 + XALLOC_BLOCK_META_DATA_SIZE, blocks_max)
ALLOC_DEFINE(bm4096, 4096 + XALLOC_BLOCK_META_DATA_SIZE, blocks_max)
ALLOC_DEFINE(bm16, stm32_bytes / 2 + XALLOC_BLOCK_META_DATA_SIZE, stm32_count)
ALLOC_DEFINE(bm32, stm32_bytes + XALLOC_BLOCK_META_DATA_SIZE, stm32_count)

ALLOC_Allocator* large[] = {&bm2048Obj, &bm4096Obj};
ALLOC_Allocator* small[] = {&bm16Obj, &bm32Obj};
XAllocData       large_data{large, 2};
XAllocData       small_data{small, 2};

template <std::size_t Bytes, std::size_t Count>
struct described_fb : described::locked {
    static constexpr const char* name = "described, fb";

    described_fb() : locked(Bytes, Count, described::memory<Bytes, Count>) {}
};

template <std::size_t Bytes, std::size_t Count>
class described_x
{
  public:
    static constexpr const char* name = "described, x";

    void* take(std::size_t bytes)
    {
        return pools_.take(bytes);
    }

    void give(void* block)
    {
        pools_.give(block);
    }

  private:
    static constexpr std::size_t full_bytes = Bytes + sizeof(described::header);
    static constexpr std::size_t half_bytes = Bytes / 2 + sizeof(described::header);
    static constexpr std::size_t count      = Count / 2;

    described::locked  half_{half_bytes, count, described::memory<half_bytes, count>};
    described::locked  full_{full_bytes, count, described::memory<full_bytes, count>};
    described::locked* both_[2] = {&half_, &full_};
    described::by_size pools_{both_, 2};
};

template <std::size_t Bytes, std::size_t>
class with_fb
{
  public:
    static constexpr const char* name = "fb_allocator";

    void* take(std::size_t bytes)
    {
        return ALLOC_Alloc(Bytes == 4096 ? both : both_small, bytes);
    }

    void give(void* block)
    {
        ALLOC_Free(Bytes == 4096 ? both : both_small, block);
    }
};

template <std::size_t Bytes, std::size_t>
class with_x
{
  public:
    static constexpr const char* name = "x_allocator";

    void* take(std::size_t bytes)
    {
        return XALLOC_Alloc(Bytes == 4096 ? &large_data : &small_data, bytes);
    }

    void give(void* block)
    {
        XALLOC_Free(block);
    }
};

}  // namespace

void originals::add_c_allocator(all_cases& cases)
{
    add_phases<malloc_heap>(cases, "c_allocator", 4096, blocks_max);
    add_phases<egb_heap>(cases, "c_allocator", 4096, blocks_max);
    add_both<described_fb>(cases, "c_allocator");
    add_both<described_x>(cases, "c_allocator");
    add_both<with_fb>(cases, "c_allocator");
    add_both<with_x>(cases, "c_allocator");
}
