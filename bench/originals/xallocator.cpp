// SPDX-License-Identifier: MIT
// D. Lafreniere's xallocator, with its blocks of 4,000 bytes, against malloc.
#include "described.hpp"
#include "phases.hpp"

#include "eggbox/compat/xallocator.h"

namespace
{

using namespace originals;

struct described_classes : described::by_class {
    static constexpr const char* name = "described, xmalloc";
};

class with_xmalloc
{
  public:
    static constexpr const char* name = "xmalloc";

    void* take(std::size_t bytes)
    {
        return xmalloc(bytes);
    }

    void give(void* block)
    {
        xfree(block);
    }
};

template <class Rival>
void add(all_cases& cases)
{
    add_phases<Rival>(cases, "xallocator", 4000, blocks_max);
    add_phases<Rival>(cases, "stm32", stm32_bytes, stm32_count);
}

}  // namespace

void originals::add_xallocator(all_cases& cases)
{
    add<malloc_heap>(cases);
    add<described_classes>(cases);
    add<with_xmalloc>(cases);
    add<egb_heap>(cases);
}
