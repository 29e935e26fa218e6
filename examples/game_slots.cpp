// SPDX-License-Identifier: MIT
// Enemies, bullets that follow one of them, and a mesh that the GPU reads for two frames after the
// game has dropped it. No bullet ever follows a dead enemy, or one that took the place of it.
#include "eggbox/slots.hpp"

#include <cstdint>
#include <cstdio>

namespace
{

struct enemy {
    int x;
};

struct bullet {
    int                   x;
    eggbox::handle<enemy> target;
};

struct mesh {
    int vertices[300];
};

eggbox::slots<enemy, 100>     enemies;
eggbox::growing_slots<bullet> bullets;
eggbox::slots<mesh, 10>       meshes;

// Moves every bullet to its target. Says whether one got there.
bool move_bullets()
{
    bool hit = false;
    bullets.each([&hit](eggbox::handle<bullet> here, bullet& one) {
        const enemy* const target = enemies.get(one.target);
        one.x += 10;
        if (target != nullptr && one.x >= target->x) {
            hit = true;
            enemies.erase(one.target);  // for the other bullets there is no target any more
            bullets.erase(here);        // the current one may go
        }
    });
    return hit;
}

}  // namespace

int main()
{
    const eggbox::handle<enemy> dragon = enemies.insert(enemy{15});
    const eggbox::handle<mesh>  scales = meshes.insert();
    for (int i = 0; i < 3; i++) {
        bullets.insert(bullet{-i, dragon});
    }
    constexpr std::uint64_t behind = 2;  // the GPU has finished this many frames fewer than we
    for (std::uint64_t frame = 0; frame < 4; frame++) {
        const bool hit = move_bullets();
        if (hit) {
            enemies.insert(enemy{1000});  // into the place of the dragon
            if (meshes.retire(scales, frame) != EGB_OK) {
                return 1;
            }
        }
        meshes.advance(frame < behind ? 0 : frame - behind);
        std::printf(
            "frame %d: %zu bullets, target hit: %s\n",
            static_cast<int>(frame),
            bullets.in_use(),
            hit ? "yes" : "no"
        );
    }
    for (int end = 0; end < 2; end++) {
        std::printf("meshes: %zu live, %zu for the GPU\n", meshes.in_use(), meshes.in_limbo());
        meshes.advance(2);
    }
    return 0;
}
