// SPDX-License-Identifier: MIT
// A level of a game: all its blocks come from pools below one pool with a budget, and go with that
// pool at once. Nobody has to free a tree of objects, and no level can starve the next.
#include "eggbox/pool.h"

#include <stdio.h>

typedef struct enemy {
    float x, y;
    int   health;
} enemy;

typedef struct texture {
    unsigned char pixels[65536];
} texture;

typedef struct level {
    egb_pool all;  // the budget of everything below it
    egb_pool enemies;
    egb_pool textures;
} level;

static egb_pool pool_in(egb_pool parent, const char* name, size_t bytes, size_t budget)
{
    const egb_pool_options options = {
        .name = name, .block_bytes = bytes, .parent = parent, .budget_bytes = budget
    };
    egb_pool pool = {0, 0};
    if (egb_pool_create(&pool, &options) != EGB_OK) {
        printf("no pool for %s\n", name);
    }
    return pool;
}

static level start_level(void)
{
    const egb_pool none   = {0, 0};
    level          loaded = {none, none, none};
    loaded.all            = pool_in(none, "level", 1, (size_t)8 << 20);
    loaded.enemies        = pool_in(loaded.all, "enemies", sizeof(enemy), 0);
    loaded.textures       = pool_in(loaded.all, "textures", sizeof(texture), 0);
    return loaded;
}

int main(void)
{
    const level one = start_level();
    for (int i = 0; i < 1000; i++) {
        enemy* const made = egb_pool_alloc(one.enemies);
        if (made != NULL) {
            *made = (enemy){(float)i, 0, 100};
        }
    }
    int loaded = 0;
    while (egb_pool_alloc(one.textures) != NULL) {  // until the level's 8 MiB are used up
        loaded++;
    }
    egb_pool_stats all;
    (void)egb_pool_get_subtree_stats(one.all, &all);
    printf("textures: %s\n", loaded > 100 && loaded < 128 ? "more than 100" : "?");
    printf("budget kept: %s\n", all.bytes_held <= all.budget_bytes ? "yes" : "no");
    printf(
        "blocks %s, pools %zu\n", all.in_use == 1000 + (size_t)loaded ? "add up" : "?", all.pools
    );

    printf("ask first: %s\n", egb_status_text(egb_pool_destroy(one.all, EGB_DESTROY_REFUSE)));
    printf("next level: %s\n", egb_status_text(egb_pool_destroy(one.all, EGB_DESTROY_FORCE)));
    printf("enemies are %s\n", egb_pool_alive(one.enemies) ? "still there" : "gone with it");
    return 0;
}
