// SPDX-License-Identifier: MIT
// Layer hosted: how much static memory a pool of so many blocks needs. pool.h includes this file.
//
//     static char            memory[EGB_POOL_BYTES(64, 100)];
//     const egb_pool_options options = {.block_bytes  = 64,
//                                       .max_blocks   = 100,
//                                       .memory       = memory,
//                                       .memory_bytes = sizeof memory};
#ifndef EGGBOX_POOL_BYTES_H
#define EGGBOX_POOL_BYTES_H

#include "growing.h"
#include "pool.h"

EGB_C_BEGIN_

/// The least `memory_bytes` with which a pool has `count` blocks, wherever `memory` starts.
///
/// A constant expression. If no pool of static memory has so many blocks it is 0, an array size
/// that ISO C and C++ refuse. It is for pools without alignment and flags in their options, at the
/// levels "check" and "off"; static memory has a higher level only if the options say so. At "off",
/// or if `memory` is aligned well, there may be room for more blocks: `max_blocks` makes it exactly
/// `count`.
#define EGB_POOL_BYTES(block_bytes, count) EGB_POOL_BYTES_AT(EGB_LEVEL_CHECK, 0, block_bytes, count)

/// The same at any egb_level and alignment. `block_align` is 0 for the default, or a power of two:
/// 64 or more with EGB_CACHE_LINE, 8 or more with EGB_FRESH_ZERO. 0 at "passthrough". At "off" the
/// number is for "off" alone, and EGGBOX_CHECK can raise the level to "check", where a block takes
/// a byte more.
#define EGB_POOL_BYTES_AT(level, block_align, block_bytes, count)                     \
    EGB_POOL_BYTES_FROM_(                                                             \
        level,                                                                        \
        EGB_POOL_ALIGN_(                                                              \
            level, EGB_CAST_(uint64_t, block_align), EGB_CAST_(uint64_t, block_bytes) \
        ),                                                                            \
        EGB_CAST_(uint64_t, block_bytes),                                             \
        EGB_CAST_(uint64_t, count)                                                    \
    )

/// The same number at run time, for the block size, alignment, flags and level of `options`. With
/// `memory` in the options it is for that start, and may be a few bytes less. Other options do not
/// count.
///
/// Returns  the bytes; 0 if `options` is NULL; no pool of static memory has `count` blocks, or this
///          level; egb_pool_create() refuses the block size, the alignment or the flags.
/// Cost     O(1)
size_t egb_pool_bytes(const egb_pool_options* options, size_t count);

// ---- private from here on -----------------------------------------------------------------------

// The header behind the blocks and their states; and at "guard" and "track" the parts of a block.
#define EGB_POOL_HEADER_BYTES_  (sizeof(egb_fixed) + sizeof(egb_shape_) + 11u * sizeof(size_t) + 8u)
#define EGB_POOL_FRONT_BYTES_   16u
#define EGB_POOL_RECORD_BYTES_  (sizeof(void*) > 4 ? 48u : 40u)
#define EGB_POOL_BACK_BYTES_    16u
#define EGB_POOL_GAP_BYTES_MAX_ 128u  // left by the alignment, before a block

// The numbers have 64 bits, so that none wraps before the last step has looked at the count.
#define EGB_POOL_LARGER_(a, b)          ((a) > (b) ? (a) : (b))
#define EGB_POOL_SMALLER_(a, b)         ((a) < (b) ? (a) : (b))
#define EGB_POOL_ROUND_UP_(bytes, step) (((bytes) + (step) - 1u) & (0u - (step)))
#define EGB_POOL_HAS_MEMORY_(level)                                   \
    (EGB_CAST_(int, level) < EGB_CAST_(int, EGB_LEVEL_PASSTHROUGH) || \
     EGB_CAST_(int, level) == EGB_CAST_(int, EGB_LEVEL_SAMPLE))
#define EGB_POOL_IS_GUARDED_(level)                              \
    (EGB_CAST_(int, level) == EGB_CAST_(int, EGB_LEVEL_GUARD) || \
     EGB_CAST_(int, level) == EGB_CAST_(int, EGB_LEVEL_TRACK))

#define EGB_POOL_ALIGN_(level, align, bytes)                                                  \
    EGB_POOL_LARGER_(                                                                         \
        (align) != 0 ? (align) : UINT64_C(16) >> ((bytes) % 16u != 0) >> ((bytes) % 8u != 0), \
        EGB_POOL_IS_GUARDED_(level) ? UINT64_C(8) : UINT64_C(4)                               \
    )
#define EGB_POOL_HEAD_(level)                                                                  \
    (UINT64_C(0) + (EGB_POOL_IS_GUARDED_(level) ? EGB_POOL_FRONT_BYTES_ : 0u) +                \
     (EGB_CAST_(int, level) == EGB_CAST_(int, EGB_LEVEL_TRACK) ? EGB_POOL_RECORD_BYTES_ : 0u))
#define EGB_POOL_NEED_(level, bytes)                                                              \
    (EGB_POOL_HEAD_(level) + (EGB_POOL_IS_GUARDED_(level) ? EGB_POOL_BACK_BYTES_ : 0u) + (bytes))
#define EGB_POOL_STRIDE_(level, align, bytes)               \
    EGB_POOL_ROUND_UP_(EGB_POOL_NEED_(level, bytes), align)
// A block begins at a multiple of 8 there, and so does the gap in front of it.
#define EGB_POOL_LEAD_(level, align, bytes)                                           \
    (EGB_POOL_HEAD_(level) +                                                          \
     (EGB_POOL_IS_GUARDED_(level)                                                     \
          ? EGB_POOL_SMALLER_(                                                        \
                EGB_POOL_STRIDE_(level, align, bytes) - EGB_POOL_NEED_(level, bytes), \
                EGB_POOL_GAP_BYTES_MAX_                                               \
            ) & (0u - UINT64_C(8))                                                    \
          : 0u))
#define EGB_POOL_BYTES_FROM_(level, align, bytes, count)                    \
    ((bytes) != 0 && (bytes) <= SIZE_MAX / 2 && EGB_POOL_HAS_MEMORY_(level) \
         ? EGB_POOL_BYTES_IF_(                                              \
               align,                                                       \
               EGB_POOL_STRIDE_(level, align, bytes),                       \
               EGB_POOL_USED_(                                              \
                   EGB_POOL_LEAD_(level, align, bytes),                     \
                   EGB_POOL_STRIDE_(level, align, bytes),                   \
                   EGB_CAST_(int, level) != EGB_CAST_(int, EGB_LEVEL_OFF),  \
                   count                                                    \
               ),                                                           \
               count                                                        \
           )                                                                \
         : EGB_CAST_(size_t, 0))
#define EGB_POOL_BYTES_IF_(align, stride, used, count)                                 \
    (EGB_FIXED_POSSIBLE_(stride, count) && EGB_POOL_ANYWHERE_(align, used) <= SIZE_MAX \
         ? EGB_CAST_(size_t, EGB_POOL_ANYWHERE_(align, used))                          \
         : EGB_CAST_(size_t, 0))

// Header, states, blocks, and the bytes in front of the first block.
#define EGB_POOL_USED_(lead, stride, state_bytes, count)                                          \
    ((count) * ((stride) + (state_bytes)) + (lead) + EGB_CAST_(uint64_t, EGB_POOL_HEADER_BYTES_))

// The first block and the header are aligned. The worst start is the one right behind a multiple of
// both alignments. With the bytes that this returns, the worst start leaves no byte behind the
// header.
#define EGB_POOL_ANYWHERE_(align, used)                                         \
    (EGB_POOL_ROUND_UP_(                                                        \
         (used) + EGB_POOL_LARGER_(align, EGB_CAST_(uint64_t, sizeof(size_t))), \
         EGB_POOL_SMALLER_(align, EGB_CAST_(uint64_t, sizeof(size_t)))          \
     ) -                                                                        \
     1u)

EGB_C_END_

#endif  // EGGBOX_POOL_BYTES_H
