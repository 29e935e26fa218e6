// SPDX-License-Identifier: MIT
// Moving in from Allocator: first an unchanged class, which only finds another Allocator.h, then
// the same with the library's own calls.
#include "eggbox/compat/Allocator.h"
#include "eggbox/pooled.hpp"

#include <cstdio>
#include <memory>

namespace
{

// Unchanged: a line in the class, and one in a source file.
class old_order
{
    DECLARE_ALLOCATOR

  public:
    static unsigned in_use()
    {
        return _allocator.GetBlocksInUse();
    }

    int number = 1;
};
IMPLEMENT_ALLOCATOR(old_order, 0, 0)

// Now: a base class, or EGGBOX_POOLED(order) in the class. Arrays, nothrow and derived classes
// included, and any thread without a lock.
struct order : eggbox::pooled<order> {
    int number = 1;
};

std::size_t orders_in_use()
{
    egb_pool_stats stats{};
    return egb_pool_get_stats(order::pool(), &stats) == EGB_OK ? stats.in_use : 0;
}

}  // namespace

int main()
{
    const std::unique_ptr<old_order> one(new old_order);
    const std::unique_ptr<order>     other(new order);
    std::printf("as it was: %u in use\n", old_order::in_use());
    std::printf("now: %zu in use\n", orders_in_use());

    // An allocator of 20 blocks in static memory, and its answer when there are no more.
    static char memory[100 * 20];
    Allocator   pool(100, 20, memory, "messages");
    unsigned    got = 0;
    while (pool.Allocate(100) != nullptr) {
        got++;
    }
    std::printf("%s: %u blocks, then none\n", pool.GetName(), got);
    return 0;
}
