// SPDX-License-Identifier: MIT
// The addresses of the inline functions, for linkable.c.
#include "eggbox/eggbox.h"

typedef void (*any_fn)();

extern "C" {
extern const any_fn linkable_of_cpp[10];

const any_fn linkable_of_cpp[10] = {
    reinterpret_cast<any_fn>(egb_fixed_alloc),
    reinterpret_cast<any_fn>(egb_fixed_free),
    reinterpret_cast<any_fn>(egb_fixed_alloc_unchecked),
    reinterpret_cast<any_fn>(egb_fixed_free_unchecked),
    reinterpret_cast<any_fn>(egb_pool_alloc),
    reinterpret_cast<any_fn>(egb_pool_alloc_at),
    reinterpret_cast<any_fn>(egb_pool_free),
    reinterpret_cast<any_fn>(egb_magazine_alloc),
    reinterpret_cast<any_fn>(egb_magazine_free),
    reinterpret_cast<any_fn>(egb_malloc),
};
}
