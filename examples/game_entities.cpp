// SPDX-License-Identifier: MIT
// The entities of a game in a C++ pool: objects made and destroyed every frame, a full pool as a
// rule of the game, and owners that are one pointer wide.
#include "eggbox/eggbox.hpp"

#include <array>
#include <cstdio>
#include <utility>

namespace
{

struct spark {
    float x, y;
    float dx, dy;
    int   frames_left;

    void move()
    {
        x += dx;
        y += dy;
        frames_left--;
    }
};

struct ship {
    explicit ship(const char* called) : name(called) {}

    ship(const ship&) = delete;
    ~ship()
    {
        std::printf("%s explodes\n", name);
    }

    const char* name;
};

// Static: there before main, gone with the process, all zero until the first use.
eggbox::fixed_pool<spark, 100> sparks;
eggbox::fixed_pool<ship, 2>    ships;

// When the pool has no more sparks, nobody will miss the rest.
void explode(std::array<spark*, 150>& shown, float x, float y)
{
    int n = 0;
    for (spark*& place : shown) {
        if (place == nullptr && n < 60) {
            place = sparks.make(spark{x, y, static_cast<float>(n % 8), 1.0F, 5 + n % 20});
            n += place != nullptr;
        }
    }
}

}  // namespace

int main()
{
    std::array<spark*, 150> shown{};
    {
        const eggbox::pool_ptr<ship, ships> hunter = eggbox::make_in<ships>("hunter");
        const auto                          rescue = eggbox::make_in<ships>("rescue");
        const auto                          third  = eggbox::make_in<ships>("third");
        std::printf("ships %zu, a third %s\n", ships.in_use(), third ? "flies" : "has no room");
    }  // both are destroyed here
    for (int frame = 0; frame < 100; frame++) {
        if (frame % 10 == 0 && frame < 50) {
            explode(shown, static_cast<float>(frame), 0.0F);
        }
        for (spark*& each : shown) {
            if (each != nullptr && (each->move(), each->frames_left == 0)) {
                sparks.destroy(std::exchange(each, nullptr));
            }
        }
    }
    std::printf(
        "ships %zu, sparks %zu, peak %zu\n", ships.in_use(), sparks.in_use(), sparks.peak()
    );
    return 0;
}
