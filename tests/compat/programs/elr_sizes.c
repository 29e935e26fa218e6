/* SPDX-License-Identifier: MIT */
/* A program for the later elr_mpl: four arguments, pools of several sizes, and its locks. */
#include "elr_mpl.h"
#include "elr_mtx.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The arguments of a call, as a macro. */
#define THREE_SIZES NULL, 3, sizes, NULL, NULL

#define CHECK(truth)                                             \
    do {                                                         \
        if (!(truth)) {                                          \
            printf("line %d: %s is not so\n", __LINE__, #truth); \
            exit(1);                                             \
        }                                                        \
    } while (0)

struct holder {
    elr_mtx      mutex;
    elr_atomic_t users;
    elr_mpl_t    pool;
};

static void check_size(elr_mpl_ht pool, size_t wanted, size_t expected)
{
    char* mem = (char*)elr_mpl_alloc_multi(pool, wanted);
    CHECK(mem != NULL);
    CHECK(elr_mpl_size(mem) == expected);
    mem[expected - 1] = 1;
    elr_mpl_free(mem);
}

static void on_alloc(void* mem)
{
    (void)mem;
}

/* Plain numbers are ints. */
static void list_plain_numbers(elr_mpl_ht parent)
{
    elr_mpl_t listed = elr_mpl_create_multi(parent, on_alloc, NULL, 5, 64, 128, 256, 512, 1024);
    CHECK(elr_mpl_avail(&listed));
    check_size(&listed, 65, 128);
    check_size(&listed, 257, 512);
    check_size(&listed, 1000, 1024);
}

static void use_holder(struct holder* holder)
{
    CHECK(elr_mtx_init(&holder->mutex) != 0);
    holder->users = ELR_ATOMIC_ZERO;
    holder->pool  = ELR_MPL_INITIALIZER;
    CHECK(elr_mpl_avail(&holder->pool) == 0);
    elr_mtx_lock(&holder->mutex);
    CHECK(elr_atomic_inc(&holder->users) == 1);
    holder->pool = elr_mpl_create_sync(NULL, 500, NULL, NULL);
    memset(elr_mpl_alloc(&holder->pool), 0, 500);
    elr_mpl_destroy(&holder->pool);
    CHECK(elr_atomic_dec(&holder->users) == 0);
    elr_mtx_unlock(&holder->mutex);
    elr_mtx_finalize(&holder->mutex);
}

int main(void)
{
    elr_mpl_t     pool    = ELR_MPL_INITIALIZER;
    elr_mpl_t     several = ELR_MPL_INITIALIZER;
    elr_mpl_t     listed  = ELR_MPL_INITIALIZER;
    size_t        sizes[] = {32, 64, 256};
    struct holder holder;

    CHECK(elr_mpl_init());
    pool    = elr_mpl_create(NULL, 256, NULL, NULL);
    several = elr_mpl_create_multi(&pool, sizeof(sizes) / sizeof(sizes[0]), sizes, NULL, NULL);
    listed  = elr_mpl_create_multi(&pool, NULL, NULL, 2, sizes[0], sizes[1]);
    CHECK(elr_mpl_avail(&several) && elr_mpl_avail(&listed));
    check_size(&several, 33, 64);
    check_size(&several, 257, 1024);
    check_size(&listed, 33, 64);
    list_plain_numbers(&pool);
    check_size(NULL, 69, 96);
    check_size(NULL, 2096, 3072);
    several = elr_mpl_create_multi(THREE_SIZES);
    check_size(&several, 33, 64);
    CHECK(elr_mpl_avail((elr_mpl_ht)&ELR_MPL_INITIALIZER) == 0);
    several = elr_mpl_create_multi_sync(NULL, 3, sizes, NULL, NULL);
    check_size(&several, 1, 32);
    several = elr_mpl_create_multi_2(NULL, NULL, NULL, 3, 16, 48, 80);
    check_size(&several, 40, 48);
    several = elr_mpl_create_multi_1(NULL, NULL, NULL, 3, sizes);
    check_size(&several, 200, 256);
    elr_mpl_destroy(&pool);
    CHECK(elr_mpl_avail(&listed) == 0);
    use_holder(&holder);
    elr_mpl_finalize();
    puts("done");
    return 0;
}
