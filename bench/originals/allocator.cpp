// SPDX-License-Identifier: MIT
// D. Lafreniere's Allocator: one static pool for both sizes, and heap blocks, against new and
// delete of arrays.
#include "described.hpp"
#include "phases.hpp"

#include "eggbox/compat/Allocator.h"

#include <eggbox/fixed.h>

namespace
{

using namespace originals;

class with_new
{
  public:
    static constexpr const char* name = "new[]";

    void* take(std::size_t bytes)
    {
        return new char[bytes];
    }

    void give(void* block)
    {
        delete[] static_cast<char*>(block);
    }
};

template <std::size_t Bytes, std::size_t Count>
struct described_pool : described::allocator {
    static constexpr const char* name = "described, pool";

    described_pool() : allocator(Bytes, Count, described::memory<Bytes, Count>) {}
};

template <std::size_t Bytes, std::size_t>
struct described_blocks : described::allocator {
    static constexpr const char* name = "described, blocks";

    described_blocks() : allocator(Bytes) {}
};

template <std::size_t Bytes, std::size_t Count>
class static_pool
{
  public:
    static constexpr const char* name = "AllocatorPool";

    void* take(std::size_t bytes)
    {
        return pool_.Allocate(bytes);
    }

    void give(void* block)
    {
        pool_.Deallocate(block);
    }

  private:
    AllocatorPool<char[Bytes], Count> pool_;
};

template <std::size_t Bytes, std::size_t>
class heap_blocks
{
  public:
    static constexpr const char* name = "Allocator";

    void* take(std::size_t bytes)
    {
        return blocks_.Allocate(bytes);
    }

    void give(void* block)
    {
        blocks_.Deallocate(block);
    }

  private:
    Allocator blocks_{Bytes};
};

template <std::size_t Bytes>
struct alignas(16) block {
    unsigned char bytes[Bytes];
};

EGB_FIXED_DEFINE_MARKED(large, block<4096>, document_blocks);
EGB_FIXED_DEFINE_MARKED(small, block<stm32_bytes>, 2 * stm32_count);

template <std::size_t Bytes, std::size_t>
class fixed_native
{
  public:
    static constexpr const char* name = "egb_fixed";

    void* take(std::size_t)
    {
        return Bytes == 4096 ? large_alloc() : small_alloc();
    }

    void give(void* block)
    {
        if (Bytes == 4096) {
            large_free(block);
        } else {
            small_free(block);
        }
    }
};

template <std::size_t Bytes, std::size_t>
class native : public pool_native
{
  public:
    native() : pool_native(Bytes) {}
};

}  // namespace

void originals::add_allocator(all_cases& cases)
{
    add_phases<with_new>(cases, "allocator", 4096, blocks_max);
    add_phases<with_new>(cases, "stm32", stm32_bytes, stm32_count);
    add_both<described_pool>(cases, "allocator");
    add_both<described_blocks>(cases, "allocator");
    add_both<static_pool>(cases, "allocator");
    add_both<heap_blocks>(cases, "allocator");
    add_both<fixed_native>(cases, "allocator");
    add_both<native>(cases, "allocator");
}
