// SPDX-License-Identifier: MIT
// The size classes: which one serves a request, the size of its blocks, and their start.
#include "heap.h"

#include "../../os/os.h"

// The position of the highest bit.
static unsigned high_bit(size_t number)
{
    return (unsigned)sizeof(long long) * 8 - 1 - (unsigned)__builtin_clzll(number);
}

// Sizes over 128 bytes by their highest bit and the next three: 2^7 is the first doubling.
size_t egb_heap_class_of_(size_t bytes)
{
    if (bytes <= EGB_HEAP_FINE_BYTES_MAX) {
        return bytes == 0 ? 0 : (bytes - 1) / EGB_HEAP_STEP_BYTES_;
    }
    const unsigned doubling = high_bit(bytes - 1) - 7;
    return doubling * (size_t)EGB_HEAP_STEPS_TO_DOUBLE + ((bytes - 1) >> (doubling + 4));
}

size_t egb_heap_class_bytes_(size_t index)
{
    if (index < EGB_HEAP_STEPS_TO_DOUBLE) {
        return (index + 1) * EGB_HEAP_STEP_BYTES_;
    }
    const size_t doubling = index / EGB_HEAP_STEPS_TO_DOUBLE - 1;
    const size_t step     = index % EGB_HEAP_STEPS_TO_DOUBLE + 1;
    return (EGB_HEAP_STEPS_TO_DOUBLE + step) << (doubling + 4);
}

// The largest power of two that divides the size.
static size_t power_in(size_t block_bytes)
{
    return block_bytes & (0 - block_bytes);
}

// Programs, such as sqlite, put some bytes of their own in front of a page, and read pages of files
// into it. At 1 to 15 bytes behind a multiple of 4096 the system's copy takes twice as long (2.3
// for 1.1 us, on AMD's Zen 4), and some blocks of an odd size would start at such a multiple.
size_t egb_heap_class_lead_(size_t block_bytes)
{
    enum { ALIAS_BYTES = 4096 };
    const size_t power  = power_in(block_bytes);
    const bool   is_odd = power < block_bytes && power < ALIAS_BYTES;
    return is_odd && block_bytes > EGB_HEAP_NATURAL_BYTES_MAX ? power / 2 : 0;
}

size_t egb_heap_class_align_(size_t block_bytes)
{
    const size_t lead  = egb_heap_class_lead_(block_bytes);
    const size_t power = power_in(block_bytes);
    const size_t page  = egb_os_page_bytes_();
    return lead != 0 ? lead : power < page ? power : page;
}
