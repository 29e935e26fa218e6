// SPDX-License-Identifier: MIT
// The inline functions, as a program calls them that does not read our headers: in Rust, Zig, ...
// Nor does this file. linkable_in_c.c and linkable_in_cpp.cpp do, and they make the arguments.
#include <stdint.h>
#include <stdio.h>

typedef struct handle {
    uint32_t slot;
    uint32_t generation;
} handle;

typedef void (*any_fn)(void);

void* egb_fixed_alloc(void* pool);
void  egb_fixed_free(void* pool, void* block);
void* egb_fixed_alloc_unchecked(void* pool);
void  egb_fixed_free_unchecked(void* pool, void* block);
void* egb_pool_alloc(handle pool);
void* egb_pool_alloc_at(handle pool, const char* file, unsigned line);
void  egb_pool_free(handle pool, void* block);
void* egb_magazine_alloc(void* cache);
void  egb_magazine_free(void* cache, void* block);
void* egb_malloc(size_t bytes);
void  egb_free(void* block);

extern void* const  linkable_fixed;
extern void* const  linkable_unchecked;
extern void* const  linkable_cache;
extern handle       linkable_pool;
extern const any_fn linkable_of_cpp[10];

int linkable_make(void);
int linkable_end(void);

static int failures;

#define CHECK(truth)                                           \
    do {                                                       \
        if (!(truth)) {                                        \
            printf("%s:%d: " #truth "\n", __FILE__, __LINE__); \
            failures++;                                        \
        }                                                      \
    } while (0)

// A block that was freed last comes first.
static void blocks_come_and_go(void)
{
    void* block = egb_fixed_alloc(linkable_fixed);
    CHECK(block != NULL);
    egb_fixed_free(linkable_fixed, block);
    CHECK(egb_fixed_alloc(linkable_fixed) == block);

    block = egb_fixed_alloc_unchecked(linkable_unchecked);
    CHECK(block != NULL);
    egb_fixed_free_unchecked(linkable_unchecked, block);
    CHECK(egb_fixed_alloc_unchecked(linkable_unchecked) == block);

    block = egb_pool_alloc(linkable_pool);
    CHECK(block != NULL);
    egb_pool_free(linkable_pool, block);
    block = egb_pool_alloc_at(linkable_pool, __FILE__, __LINE__);
    CHECK(block != NULL);
    egb_pool_free(linkable_pool, block);

    block = egb_magazine_alloc(linkable_cache);
    CHECK(block != NULL);
    egb_magazine_free(linkable_cache, block);

    block = egb_malloc(100);
    CHECK(block != NULL);
    egb_free(block);
}

// C++ has no copies: it means the library's functions, as this file does.
static void functions_are_the_same_in_cpp(void)
{
    const any_fn here[] = {
        (any_fn)egb_fixed_alloc,
        (any_fn)egb_fixed_free,
        (any_fn)egb_fixed_alloc_unchecked,
        (any_fn)egb_fixed_free_unchecked,
        (any_fn)egb_pool_alloc,
        (any_fn)egb_pool_alloc_at,
        (any_fn)egb_pool_free,
        (any_fn)egb_magazine_alloc,
        (any_fn)egb_magazine_free,
        (any_fn)egb_malloc,
    };
    for (size_t i = 0; i < sizeof here / sizeof *here; i++) {
        CHECK(here[i] == linkable_of_cpp[i]);
    }
}

int main(void)
{
    CHECK(linkable_make() == 0);
    blocks_come_and_go();
    functions_are_the_same_in_cpp();
    CHECK(linkable_end() == 0);
    return failures == 0 ? 0 : 1;
}
