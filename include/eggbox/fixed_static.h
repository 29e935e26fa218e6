// SPDX-License-Identifier: MIT
// Layer core: the macros that the definitions of static pools in fixed.h become. Everything here is
// private, and needs fixed.h where it is used.
//
// The initialisers are the numbers that init computes. The two functions of a pool know its mode,
// and refer to the cold halves of that mode alone: a program links no other mode on their account.
#ifndef EGGBOX_FIXED_STATIC_H
#define EGGBOX_FIXED_STATIC_H

#include "base.h"

// The larger of two powers of two.
#define EGB_FIXED_ALIGN_(type) (((EGB_ALIGNOF_(type) - 1u) | (EGB_WORD_BYTES - 1u)) + 1u)

// Static pools, whose blocks have the attribute `place`: see fixed_placed.h.
#define EGB_FIXED_DEFINE_AT_(place, name, type, count)                                           \
    EGB_FIXED_SHAPE_(name, type, count);                                                         \
    static egb_word name##_live_[EGB_FIXED_LIVE_BYTES(count) / EGB_WORD_BYTES];                  \
    EGB_FIXED_POOL_(place, name, type, count, EGB_FIXED_LIVE_, name##_live_);                    \
    EGB_FIXED_FUNCTIONS_(name, egb_fixed_alloc_bits_(&name), egb_fixed_free_bits_(&name, block))
#define EGB_FIXED_DEFINE_MARKED_AT_(place, name, type, count)                     \
    EGB_FIXED_SHAPE_(name, type, count);                                          \
    EGB_FIXED_POOL_(                                                              \
        place,                                                                    \
        name,                                                                     \
        type,                                                                     \
        count,                                                                    \
        (name##_stride_ == 1 ? EGB_FIXED_TINY_ : EGB_FIXED_MARKED_),              \
        EGB_NULL_                                                                 \
    );                                                                            \
    EGB_FIXED_FUNCTIONS_(                                                         \
        name,                                                                     \
        egb_fixed_alloc_known_(                                                   \
            &name,                                                                \
            EGB_FIXED_KNOWN_(name),                                               \
            name##_stride_ == 1 ? egb_fixed_alloc_tiny_ : egb_fixed_alloc_marked_ \
        ),                                                                        \
        egb_fixed_free_known_(                                                    \
            &name,                                                                \
            EGB_FIXED_KNOWN_(name),                                               \
            block,                                                                \
            name##_stride_ == 1 ? egb_fixed_free_tiny_ : egb_fixed_free_marked_   \
        )                                                                         \
    )
#define EGB_FIXED_DEFINE_UNCHECKED_AT_(place, name, type, count)                        \
    EGB_FIXED_SHAPE_(name, type, count);                                                \
    EGB_STATIC_ASSERT(                                                                  \
        (sizeof(type) + 3u) / 4u * 4u >= sizeof(egb_fixed_link_), "a link fits a block" \
    );                                                                                  \
    EGB_FIXED_POOL_(place, name, type, count, EGB_FIXED_UNCHECKED_, EGB_NULL_);         \
    EGB_FIXED_FUNCTIONS_(                                                               \
        name, egb_fixed_alloc_unchecked(&name), egb_fixed_free_unchecked(&name, block)  \
    )

// The two halves of a static pool's definition. The numbers are those that init computes.
#define EGB_FIXED_SHAPE_(name, type, count)                                                     \
    enum {                                                                                      \
        name##_stride_ = EGB_CAST_(int, (sizeof(type) + EGB_WORD_BYTES - 1u) / EGB_WORD_BYTES), \
        name##_shift_  = EGB_FIXED_SHIFT_(EGB_CAST_(size_t, name##_stride_) * EGB_WORD_BYTES),  \
        name##_odd_    = name##_stride_ >> (name##_shift_ - EGB_FIXED_WORD_SHIFT_)              \
    };                                                                                          \
    EGB_STATIC_ASSERT(                                                                          \
        sizeof(type) < SIZE_MAX / 4u && sizeof(type) < UINT32_MAX / 4u &&                       \
            EGB_FIXED_BYTES((EGB_CAST_(uint64_t, sizeof(type)) + 3u) / 4u * 4u, count) != 0,    \
        "no pool has this many blocks of this type"                                             \
    )
#define EGB_FIXED_POOL_(place, name, type, count, mode, live)                                    \
    EGB_ALIGNAS_(EGB_FIXED_ALIGN_(type))                                                         \
    static egb_word                                                                              \
        name##_blocks_[EGB_CAST_(size_t, name##_stride_) * EGB_CAST_(size_t, count)] place;      \
    static egb_fixed name = {                                                                    \
        name##_blocks_,                                                                          \
        EGB_FIXED_INVERSE_(EGB_CAST_(size_t, name##_odd_)),                                      \
        {live},                                                                                  \
        EGB_FIXED_NONE_,                                                                         \
        0,                                                                                       \
        0,                                                                                       \
        EGB_FIXED_REACH_(count, name##_stride_),                                                 \
        EGB_CAST_(uint32_t, name##_stride_),                                                     \
        EGB_FIXED_CHECKSUM_(                                                                     \
            EGB_FIXED_REACH_(count, name##_stride_), EGB_CAST_(uint32_t, name##_stride_), (mode) \
        ),                                                                                       \
        EGB_CAST_(uint8_t, name##_shift_),                                                       \
        (mode)                                                                                   \
    }

// The functions of a static pool.
#define EGB_FIXED_FUNCTIONS_(name, take, give)                    \
    EGB_STATIC_INLINE_ void* name##_alloc(void)                   \
    {                                                             \
        return take;                                              \
    }                                                             \
    EGB_STATIC_INLINE_ void name##_free(void* block)              \
    {                                                             \
        give;                                                     \
    }                                                             \
    EGB_STATIC_ASSERT(name##_stride_ != 0, "takes the semicolon")

// Without EGB_CAST_(): in C++ without optimisation that is a call, in the functions of each pool.
#define EGB_FIXED_KNOWN_(name)                                                               \
    egb_fixed_known_(                                                                        \
        &name, name##_blocks_, EGB_FIXED_INVERSE_(sizeof(char) * name##_odd_), name##_shift_ \
    )

#endif  // EGGBOX_FIXED_STATIC_H
