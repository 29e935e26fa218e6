// SPDX-License-Identifier: MIT
// Classes whose new and delete use pools: nothing else in the program changes, and each class has
// statistics.
#include "eggbox/pooled.hpp"

#include <cstdio>
#include <memory>
#include <vector>

namespace
{

struct order : eggbox::pooled<order> {
    explicit order(int number_) : number(number_) {}
    order(const order&)            = delete;
    order& operator=(const order&) = delete;
    virtual ~order()               = default;

    [[nodiscard]] virtual int pieces() const
    {
        return 1;
    }

    int number;
};

// Larger than the blocks of its base's pool: served all the same, and freed as an order.
struct bulk_order : order {
    bulk_order(int number_, int pieces_) : order(number_), many(pieces_) {}

    [[nodiscard]] int pieces() const override
    {
        return many;
    }

    int  many;
    char address[100] = {};
};

// Without a base class, one line does the same.
class invoice final
{
    EGGBOX_POOLED(invoice)

    explicit invoice(const order& from) : total(from.pieces() * 5) {}

    int total;
};

void print(const char* when)
{
    egb_pool_stats stats{};
    if (egb_pool_get_stats(order::pool(), &stats) == EGB_OK) {
        std::printf("%s: %zu orders in blocks of %zu bytes\n", when, stats.in_use, sizeof(order));
    }
}

}  // namespace

int main()
{
    std::vector<std::unique_ptr<order>> orders;
    for (int i = 0; i < 10; i++) {
        orders.push_back(std::make_unique<order>(i));
    }
    orders.push_back(std::make_unique<bulk_order>(10, 500));
    print("open");
    int total = 0;
    for (const auto& each : orders) {
        total += std::make_unique<invoice>(*each)->total;
    }
    orders.clear();
    print("done");
    std::printf("total %d\n", total);
    return 0;
}
