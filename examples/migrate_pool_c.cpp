// SPDX-License-Identifier: MIT
// Moving in from the class of Kenwright's paper: first the unchanged program, which only finds
// another Pool_c.h, then the same with the library's own calls.
#include "eggbox/compat/Pool_c.h"
#include "eggbox/eggbox.hpp"

#include <cstdio>
#include <new>

namespace
{

struct particle {
    particle(float x_, float y_) : x(x_), y(y_) {}
    float x, y;
};

// Unchanged: blocks of bytes, objects made by hand, and NULL when there are no more.
int as_it_was()
{
    Pool_c pool;
    pool.CreatePool(sizeof(particle), 100);
    int made = 0;
    while (void* const block = pool.Allocate()) {
        new (block) particle(1.0F, 2.0F);
        made++;
    }
    pool.DeAllocate(pool.AddrFromIndex(7));
    pool.DestroyPool();
    return made;
}

// Now: no size to get wrong, no cast, no lock for one owner, and static if you like.
eggbox::fixed_pool<particle, 100> particles;

int now()
{
    int made = 0;
    while (particle* const each = particles.make(1.0F, 2.0F)) {
        made += each->x < each->y;
    }
    return made;
}

}  // namespace

int main()
{
    std::printf("as it was %d\n", as_it_was());
    const int made = now();
    std::printf("now %d, peak %zu\n", made, particles.peak());
    return 0;
}
