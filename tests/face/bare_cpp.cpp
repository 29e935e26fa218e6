// SPDX-License-Identifier: MIT
// The C++ face compiled without exceptions and run-time type information: it must work the same.
// Macros of Qt's headers are no names of the face. (`slots` is one.)
#define forever               for (;;)
#define foreach(element, all) for (element : all)
#define signals               public
#include "eggbox/allocator.hpp"
#include "eggbox/eggbox.hpp"
#include "eggbox/memory_resource.hpp"
#include "eggbox/pooled.hpp"
#include "eggbox/shared.hpp"
#include "eggbox/slots.hpp"

#include <list>
#include <memory_resource>
#include <vector>

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

// Growing, for any thread, and with owners.
bool pools_work()
{
    eggbox::pool<thing> pool;
    if (!pool || pool.status() != EGB_OK || pool.reserve(10) != EGB_OK) {
        return false;
    }
    const eggbox::pool_handle<thing> handle = pool.handle();
    thing* const                     made   = handle.make(4);
    eggbox::pool_ptr<thing>          owned  = pool.make_unique(5);
    if (made == nullptr || !owned || made->value + owned->value != 9 || pool.in_use() != 2) {
        return false;
    }
    handle.destroy(made);
    owned.reset();
    eggbox::pool<thing> other(std::move(pool));
    return other.in_use() == 0 && other.handle() == handle && other.trim() != 0;
}

struct message : eggbox::pooled<message> {
    virtual ~message() = default;
    int number         = 3;
};

// With one block, which is free, in use, and free again.
bool waits_work()
{
    eggbox::pool_options options{};
    options.max_blocks = 1;
    eggbox::pool<thing> pool(options);
    const auto          first  = pool.make_unique_for(eggbox::wait_forever, 4);
    const auto          second = pool.make_for(std::chrono::microseconds(1), 5);
    const auto          third  = pool.alloc_for(std::chrono::seconds(0));
    return first && first.pointer->value == 4 && second.status == EGB_TIMED_OUT &&
           third.status == EGB_EMPTY && pool.cancel() == 0 && pool.waiting() == 0;
}

// Containers, resources and operator new.
bool faces_work()
{
    eggbox::heap                           own;
    std::list<int, eggbox::allocator<int>> numbers({1, 2, 3}, own);
    eggbox::memory_resource                pools;
    std::pmr::vector<int>                  others({4, 5}, &pools);
    std::pmr::vector<int>                  more({6}, eggbox::heap_resource());
    const auto                             unique = eggbox::make_unique<int>(7);
    const auto                             shared = eggbox::make_shared<int>(8);
    message* const                         one    = new message;
    const int sum = numbers.back() + others[1] + more[0] + *unique + *shared + one->number;
    delete one;
    return sum == 32 && own.owns(&numbers.back()) && message::pool().generation != 0;
}

// Objects by handle, in place and growing.
bool slots_work()
{
    eggbox::slots<thing, 2>      few;
    eggbox::growing_slots<thing> many;
    const auto                   one  = few.insert(1);
    const auto                   more = many.insert(2);
    return few.get(one)->value + many.get(more)->value == 3 && few.erase(one) &&
           many.retire(more, 1) == EGB_OK && many.advance(2) == 1 && few.whole() && many.whole();
}

}  // namespace

int main()
{
    if (!pools_work()) {
        return 2;
    }
    if (!waits_work()) {
        return 5;
    }
    if (!faces_work()) {
        return 3;
    }
    if (!slots_work()) {
        return 4;
    }
    thing* const a = things.make(1);
    thing* const b = things.make(2);
    if (a == nullptr || b == nullptr || things.make(3) != nullptr || a->value + b->value != 3) {
        return 1;
    }
    things.destroy(a);
    things.destroy(b);
    return things.in_use() == 0 && things.whole() ? 0 : 1;
}
