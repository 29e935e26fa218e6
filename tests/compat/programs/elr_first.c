/* SPDX-License-Identifier: MIT */
/* A program for the first elr_mpl: two arguments, a tree, handles that outlive their pools. */
#include "elr_mpl.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(truth)                                             \
    do {                                                         \
        if (!(truth)) {                                          \
            printf("line %d: %s is not so\n", __LINE__, #truth); \
            exit(1);                                             \
        }                                                        \
    } while (0)

static elr_mpl_t frames = ELR_MPL_INITIALIZER;
static int       on_free_calls;

static void on_alloc(void* mem)
{
    strcpy((char*)mem, "new");
}

static void on_free(void* mem)
{
    CHECK(strcmp((char*)mem, "new") == 0);
    on_free_calls++;
}

static void use_tree(void)
{
    elr_mpl_t outer = ELR_MPL_INITIALIZER;
    elr_mpl_t inner = ELR_MPL_INITIALIZER;
    void*     mem;
    int       i;

    outer = elr_mpl_create(NULL, 256);
    inner = elr_mpl_create(&outer, 128);
    CHECK(elr_mpl_avail(&outer) && elr_mpl_avail(&inner));
    for (i = 0; i < 62; i++) {
        elr_mpl_create(NULL, 128);
    }
    for (i = 0; i < 100; i++) {
        mem = elr_mpl_alloc(&inner);
        CHECK(mem != NULL && elr_mpl_size(mem) == 128);
        memset(mem, 0xff, 128);
        if (i % 3 == 0) {
            elr_mpl_free(mem);
        }
    }
    elr_mpl_destroy(&outer);
    CHECK(outer.pool == NULL && elr_mpl_avail(&inner) == 0);
    outer = elr_mpl_create(NULL, 256);
    elr_mpl_destroy(&inner);
    CHECK(elr_mpl_avail(&outer));
    elr_mpl_destroy(&outer);
}

int main(void)
{
    int i;

    CHECK(elr_mpl_init());
    CHECK(elr_mpl_init());
    CHECK(elr_mpl_avail(&frames) == 0);
    use_tree();
    frames = elr_mpl_create_ex(NULL, 64, on_alloc, on_free);
    for (i = 0; i < 70; i++) {
        CHECK(elr_mpl_alloc(&frames) != NULL);
    }
    elr_mpl_free(elr_mpl_alloc(&frames));
    elr_mpl_finalize();
    CHECK(elr_mpl_avail(&frames));
    elr_mpl_finalize();
    CHECK(elr_mpl_avail(&frames) == 0);
    CHECK(on_free_calls == 71);
    puts("done");
    return 0;
}
