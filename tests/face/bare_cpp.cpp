// SPDX-License-Identifier: MIT
// The C++ face compiled without exceptions and run-time type information: it must work the same.
#include "eggbox/eggbox.hpp"

namespace
{

struct thing {
    explicit thing(int value_) : value(value_) {}

    ~thing()
    {
        value = 0;
    }

    int value;
    int other = 0;
};

eggbox::fixed_pool<thing, 2> things;

}  // namespace

int main()
{
    thing* const a = things.make(1);
    thing* const b = things.make(2);
    if (a == nullptr || b == nullptr || things.make(3) != nullptr || a->value + b->value != 3) {
        return 1;
    }
    things.destroy(a);
    things.destroy(b);
    return things.in_use() == 0 && things.whole() ? 0 : 1;
}
