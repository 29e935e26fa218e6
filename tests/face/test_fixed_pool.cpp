// SPDX-License-Identifier: MIT
// eggbox::fixed_pool, promise by promise.
#include "events.hpp"

#include "eggbox/eggbox.hpp"

#include <stdexcept>
#include <string>

namespace
{

using eggbox::fixed_check;
using eggbox::fixed_pool;

struct particle {
    particle(double x_, int id_) : x(x_), id(id_)
    {
        alive++;
    }

    ~particle()
    {
        alive--;
    }

    particle(const particle&)            = delete;
    particle& operator=(const particle&) = delete;

    double     x;
    int        id;
    static int alive;
};

int particle::alive = 0;

fixed_pool<particle, 8> particles;  // constant-initialised: see early

struct early {
    particle* made = particles.make(1.5, 7);
} before_main;

struct thrower {
    explicit thrower(bool wanted)
    {
        if (wanted) {
            throw std::runtime_error("no");
        }
    }

    char text[24] = {};
};

struct alignas(128) wide {
    char text[130];
};

template <fixed_check Check>
struct pool_of {
    template <class T, std::size_t N>
    using type = fixed_pool<T, N, Check>;
};

template <class Kind>
class each_check : public testing::Test
{
};

using kinds = testing::Types<
    pool_of<fixed_check::marks>,
    pool_of<fixed_check::live_bits>,
    pool_of<fixed_check::outside>,
    pool_of<fixed_check::off>>;
TYPED_TEST_SUITE(each_check, kinds, );

}  // namespace

TEST(fixed_pool, a_static_one_works_before_main)
{
    events unexpected;
    ASSERT_NE(before_main.made, nullptr);
    EXPECT_EQ(before_main.made->id, 7);
    particles.destroy(before_main.made);
    EXPECT_EQ(particle::alive, 0);
    EXPECT_TRUE(particles.whole());
}

TEST(fixed_pool, it_cannot_be_copied_or_moved)
{
    using pool = fixed_pool<int, 4>;
    static_assert(!std::is_copy_constructible_v<pool> && !std::is_move_constructible_v<pool>, "");
    static_assert(!std::is_copy_assignable_v<pool> && !std::is_move_assignable_v<pool>, "");
    static_assert(std::is_trivially_destructible_v<pool>, "statics outlive everything");
}

TYPED_TEST(each_check, make_and_destroy_run_constructor_and_destructor_once)
{
    events                                         unexpected;
    typename TypeParam::template type<particle, 3> pool;
    particle* const                                a = pool.make(1.0, 1);
    particle* const                                b = pool.make(2.0, 2);
    particle* const                                c = pool.make(3.0, 3);
    ASSERT_NE(c, nullptr);
    EXPECT_EQ(particle::alive, 3);
    EXPECT_EQ(pool.make(4.0, 4), nullptr);
    EXPECT_EQ(particle::alive, 3) << "nothing is constructed where there is no block";
    pool.destroy(b);
    EXPECT_EQ(particle::alive, 2);
    EXPECT_EQ(pool.make(5.0, 5), b);
    EXPECT_EQ(a->id, 1);
    EXPECT_EQ(c->id, 3);
    EXPECT_EQ(pool.in_use(), 3u);
    EXPECT_EQ(pool.peak(), 3u);
    EXPECT_EQ(pool.available(), 0u);
    EXPECT_EQ(pool.capacity(), 3u);
    pool.destroy(a);
    pool.destroy(b);
    pool.destroy(c);
    pool.destroy(nullptr);
    EXPECT_EQ(particle::alive, 0);
    EXPECT_TRUE(pool.whole());
}

TYPED_TEST(each_check, a_constructor_that_throws_loses_no_block)
{
    events                                        unexpected;
    typename TypeParam::template type<thrower, 1> pool;
    for (int i = 0; i < 5; i++) {
        EXPECT_THROW((void)pool.make(true), std::runtime_error);
        EXPECT_EQ(pool.in_use(), 0u);
    }
    thrower* const fine = pool.make(false);
    EXPECT_NE(fine, nullptr);
    pool.destroy(fine);
    EXPECT_TRUE(pool.whole());
}

TYPED_TEST(each_check, objects_smaller_than_a_link_and_wider_than_any_other_alignment)
{
    events                                      unexpected;
    typename TypeParam::template type<char, 70> small;
    typename TypeParam::template type<wide, 5>  large;
    char*                                       chars[70];
    for (char*& c : chars) {
        c = small.make('x');
        ASSERT_NE(c, nullptr);
    }
    EXPECT_EQ(small.make('y'), nullptr);
    for (char* c : chars) {
        EXPECT_EQ(*c, 'x');
        small.destroy(c);
    }
    EXPECT_TRUE(small.whole());
    for (int i = 0; i < 5; i++) {
        EXPECT_EQ(reinterpret_cast<uintptr_t>(large.make()) % 128, 0u);
    }
    EXPECT_EQ(large.make(), nullptr);
}

TEST(fixed_pool, misuse_is_refused_before_the_destructor_runs)
{
    fixed_pool<particle, 4>                         marked;
    fixed_pool<particle, 4, fixed_check::live_bits> with_bits;
    fixed_pool<particle, 4, fixed_check::outside>   outside;
    events                                          seen;
    const auto                                      abuse = [&](auto& pool) {
        particle* const a = pool.make(1.0, 1);
        auto* const     middle = reinterpret_cast<particle*>(reinterpret_cast<char*>(a) + 4);
        pool.destroy(middle);
        EXPECT_EQ(seen.take_kind(), EGB_MISUSE_INTERIOR);
        pool.destroy(reinterpret_cast<particle*>(&pool));
        EXPECT_EQ(seen.take_kind(), EGB_MISUSE_FOREIGN);
        pool.destroy(a + 1);
        EXPECT_EQ(seen.take_kind(), EGB_MISUSE_NEVER_ALLOCATED);
        EXPECT_EQ(particle::alive, 1);
        pool.destroy(a);
        EXPECT_EQ(particle::alive, 0);
        pool.destroy(a);
        EXPECT_EQ(seen.take_kind(), EGB_MISUSE_DOUBLE_FREE);
        EXPECT_EQ(particle::alive, 0);
        EXPECT_TRUE(pool.whole());
    };
    abuse(marked);
    abuse(with_bits);
    abuse(outside);
}

TEST(fixed_pool, the_first_use_may_be_a_question_or_a_mistake)
{
    events             seen;
    fixed_pool<int, 4> asked;
    EXPECT_EQ(asked.in_use(), 0u);
    EXPECT_EQ(asked.available(), 4u);
    EXPECT_TRUE(asked.whole());
    EXPECT_FALSE(asked.owns(&seen));
    fixed_pool<double, 4> abused;
    double                mine = 0;
    abused.destroy(&mine);
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_FOREIGN);
    fixed_pool<double, 4> cleared;
    cleared.clear();
    double* const d = cleared.make(2.0);
    EXPECT_TRUE(cleared.owns(d));
    EXPECT_TRUE(cleared.is_live(d));
    cleared.clear();
    EXPECT_FALSE(cleared.is_live(d));
}

TEST(fixed_pool, a_pointer_of_a_static_pool_is_one_pointer_wide_and_destroys)
{
    static fixed_pool<particle, 2> pool;
    using pointer = eggbox::pool_ptr<particle, pool>;
    static_assert(sizeof(pointer) == sizeof(void*), "");
    events unexpected;
    {
        pointer a = eggbox::make_in<pool>(1.0, 1);
        pointer b = eggbox::make_in<pool>(2.0, 2);
        EXPECT_FALSE(eggbox::make_in<pool>(3.0, 3));
        EXPECT_EQ(b->id, 2);
        a = std::move(b);
        EXPECT_EQ(particle::alive, 1);
    }
    EXPECT_EQ(particle::alive, 0);
    EXPECT_EQ(pool.in_use(), 0u);
}

TEST(fixed_pool, an_object_can_be_owned_and_destroyed_as_constant)
{
    static fixed_pool<particle, 2> pool;
    events                         unexpected;
    {
        const eggbox::pool_ptr<const particle, pool> owned(pool.make(1.0, 1));
        EXPECT_EQ(owned->id, 1);
    }
    const particle* const b = pool.make(2.0, 2);
    pool.destroy(b);
    EXPECT_EQ(particle::alive, 0);
    EXPECT_EQ(pool.in_use(), 0u);
}

TEST(fixed_pool, blocks_without_objects_can_be_had_too)
{
    events                  unexpected;
    fixed_pool<particle, 2> pool;
    void* const             block = pool.alloc();
    EXPECT_NE(block, nullptr);
    pool.free(block);
    pool.free(nullptr);
    EXPECT_EQ(particle::alive, 0);
    EXPECT_TRUE(pool.whole());
}

TEST(fixed_pool, pools_of_4_byte_objects_find_every_double_free)
{
    fixed_pool<int, 4> pool;
    events             seen;
    int* const         a = pool.make(5);
    pool.destroy(a);
    *a = 12345;
    pool.destroy(a);
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_DOUBLE_FREE);
}
