// SPDX-License-Identifier: MIT
// eggbox::pool, its handles and its pointers, promise by promise.
#include "events.hpp"

#include "eggbox/eggbox.hpp"
#include "levels.hpp"

#include <array>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>

namespace
{

using eggbox::pool;
using eggbox::pool_handle;
using eggbox::pool_options;
using eggbox::pool_ptr;

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
    char       rest[16] = {};
    static int alive;
};

int particle::alive = 0;

struct thrower {
    explicit thrower(bool wanted)
    {
        if (wanted) {
            throw std::runtime_error("no");
        }
    }

    ~thrower()
    {
        destroyed++;
    }

    static int destroyed;
    char       text[24] = {};
};

int thrower::destroyed = 0;

struct alignas(256) wide {
    char text[300];
};

struct shape {
    virtual ~shape() = default;
};

struct circle : shape {
    double radius = 1;
};

// In no pool.
alignas(particle) char outside[sizeof(particle)];

pool_options limited(std::size_t blocks, const char* check = nullptr)
{
    pool_options options{};
    options.max_blocks = blocks;
    options.level      = level_named(check);
    return options;
}

template <class T>
T* moved(T* object, int bytes)
{
    return reinterpret_cast<T*>(reinterpret_cast<char*>(object) + bytes);
}

// Also when a test failed half way: no later one may suffer.
class pool_face : public testing::Test
{
  protected:
    pool_face()
    {
        particle::alive    = 0;
        thrower::destroyed = 0;
    }
};

}  // namespace

TEST_F(pool_face, types_are_as_large_and_as_movable_as_they_say)
{
    using owner  = pool<particle>;
    using handle = pool_handle<particle>;
    static_assert(!std::is_copy_constructible_v<owner> && !std::is_copy_assignable_v<owner>, "");
    static_assert(std::is_nothrow_move_constructible_v<owner>, "");
    static_assert(std::is_nothrow_move_assignable_v<owner>, "");
    static_assert(std::is_nothrow_default_constructible_v<owner>, "");
    static_assert(std::is_nothrow_constructible_v<owner, const pool_options&>, "");
    static_assert(!std::is_convertible_v<owner, bool>, "only where a condition is");
    static_assert(sizeof(handle) == sizeof(egb_pool), "");
    static_assert(std::is_trivially_copyable_v<handle>, "");
    static_assert(!std::is_convertible_v<handle, pool_handle<thrower>>, "");
    static_assert(!std::is_constructible_v<pool_handle<thrower>, handle>, "");
    static_assert(!std::is_constructible_v<handle, egb_pool>, "a block might be too small");
    static_assert(sizeof(pool_ptr<particle>) == sizeof(void*), "");
    static_assert(std::is_convertible_v<pool_ptr<circle>, pool_ptr<const circle>>, "");
    static_assert(!std::is_convertible_v<pool_ptr<const circle>, pool_ptr<circle>>, "");
    static_assert(!std::is_constructible_v<pool_ptr<shape>, pool_ptr<circle>>, "");
}

TEST_F(pool_face, make_and_destroy_run_constructor_and_destructor_once)
{
    for (const char* check : {"check", "off"}) {
        events          unexpected;
        pool<particle>  particles(limited(3, check));
        particle* const a = particles.make(1.0, 1);
        particle* const b = particles.make(2.0, 2);
        particle* const c = particles.make(3.0, 3);
        ASSERT_NE(c, nullptr);
        EXPECT_EQ(particle::alive, 3);
        EXPECT_EQ(particles.make(4.0, 4), nullptr);
        EXPECT_EQ(particle::alive, 3) << "nothing is constructed where there is no block";
        particles.destroy(b);
        EXPECT_EQ(particle::alive, 2);
        EXPECT_EQ(particles.make(5.0, 5), b);
        EXPECT_EQ(a->id + b->id + c->id, 9);
        EXPECT_EQ(particles.in_use(), 3u);
        EXPECT_EQ(particles.stats().failures, 1u);
        EXPECT_EQ(particles.stats().block_bytes, sizeof(particle));
        particles.destroy(a);
        particles.destroy(b);
        particles.destroy(c);
        particles.destroy(nullptr);
        EXPECT_EQ(particle::alive, 0);
        EXPECT_EQ(particles.in_use(), 0u);
    }
}

TEST_F(pool_face, a_constructor_that_throws_loses_no_block)
{
    events        unexpected;
    pool<thrower> throwers(limited(1));
    for (int i = 0; i < 5; i++) {
        EXPECT_THROW((void)throwers.make(true), std::runtime_error);
        EXPECT_THROW((void)throwers.handle().make(true), std::runtime_error);
        EXPECT_THROW((void)throwers.make_unique(true), std::runtime_error);
        EXPECT_EQ(throwers.in_use(), 0u);
    }
    EXPECT_EQ(thrower::destroyed, 0);
    thrower* const fine = throwers.make(false);
    ASSERT_NE(fine, nullptr);
    throwers.destroy(fine);
    EXPECT_EQ(thrower::destroyed, 1);
}

TEST_F(pool_face, objects_smaller_than_a_word_and_wider_than_any_usual_alignment)
{
    events                 unexpected;
    pool<char>             small;
    pool<wide>             large;
    std::array<char*, 200> chars{};
    std::array<wide*, 20>  wides{};
    for (char*& c : chars) {
        c = small.make('x');
        ASSERT_NE(c, nullptr);
    }
    EXPECT_EQ(small.stats().stride_bytes, 4u);
    for (char* c : chars) {
        EXPECT_EQ(*c, 'x');
        small.destroy(c);
    }
    for (wide*& w : wides) {
        w = large.make();
        ASSERT_NE(w, nullptr);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(w) % 256, 0u);
    }
    EXPECT_EQ(large.stats().stride_bytes, 512u);
    for (wide* w : wides) {
        large.destroy(w);
    }
    EXPECT_EQ(small.in_use() + large.in_use(), 0u);
}

TEST_F(pool_face, a_larger_alignment_is_kept_and_sizes_of_others_are_not)
{
    pool_options options{};
    options.block_bytes = 1;
    options.block_align = 128;
    pool<particle> particles(options);
    EXPECT_EQ(particles.stats().block_bytes, sizeof(particle));
    EXPECT_EQ(particles.stats().stride_bytes, 128u);
    alignas(256) static char memory[8192];
    options.block_align  = 1;
    options.memory       = memory + 16;
    options.memory_bytes = sizeof memory - 16;
    pool<wide> wides(options);
    ASSERT_TRUE(wides);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(wides.alloc()) % 256, 0u);
}

TEST_F(pool_face, misuse_is_refused_before_the_destructor_runs)
{
    alignas(64) static char memory[4096];
    for (const bool is_static : {false, true}) {
        pool_options options{};
        options.memory       = is_static ? memory : nullptr;
        options.memory_bytes = is_static ? sizeof memory : 0;
        pool<particle> particles(options);
        pool<particle> others;
        events         seen;
        ASSERT_TRUE(particles);
        particle* const a        = particles.make(1.0, 1);
        particle* const stranger = others.make(2.0, 2);
        particles.destroy(moved(a, 4));
        EXPECT_EQ(seen.take_kind(), EGB_MISUSE_INTERIOR);
        particles.destroy(reinterpret_cast<particle*>(outside));
        EXPECT_EQ(seen.take_kind(), EGB_MISUSE_FOREIGN);
        particles.destroy(stranger);
        EXPECT_EQ(seen.take_kind(), EGB_MISUSE_WRONG_POOL);
        particles.destroy(a + 20);
        EXPECT_EQ(seen.take_kind(), EGB_MISUSE_NEVER_ALLOCATED);
        EXPECT_EQ(particle::alive, 2);
        particles.destroy(a);
        EXPECT_EQ(particle::alive, 1);
        particles.destroy(a);
        EXPECT_EQ(seen.take_kind(), EGB_MISUSE_DOUBLE_FREE);
        EXPECT_EQ(particle::alive, 1);
        others.destroy(stranger);
    }
}

TEST_F(pool_face, is_live_knows_blocks_from_all_else)
{
    alignas(64) static char memory[4096];
    for (const bool is_static : {false, true}) {
        for (const char* check : {"check", "off"}) {
            const bool   is_checked = std::string(check) == "check";
            events       unexpected;
            pool_options options = limited(0, check);
            options.memory       = is_static ? memory : nullptr;
            options.memory_bytes = is_static ? sizeof memory : 0;
            pool<particle>  particles(options);
            pool<particle>  others;
            particle* const a     = particles.make(1.0, 1);
            const egb_pool  one   = particles.handle().get();
            const egb_pool  other = others.handle().get();
            EXPECT_TRUE(egb_pool_is_live(one, a));
            EXPECT_FALSE(egb_pool_is_live(other, a));
            EXPECT_FALSE(egb_pool_is_live(egb_pool{}, a));
            EXPECT_EQ(egb_pool_is_live(one, a + 20), !is_checked);
            EXPECT_FALSE(egb_pool_is_live(one, a + 200000));
            for (int bytes = 1; bytes < static_cast<int>(sizeof(particle)); bytes++) {
                EXPECT_FALSE(egb_pool_is_live(one, moved(a, bytes)));
            }
            EXPECT_FALSE(egb_pool_is_live(one, nullptr));
            EXPECT_FALSE(egb_pool_is_live(one, &one));
            EXPECT_FALSE(egb_pool_is_live(one, reinterpret_cast<void*>(~std::uintptr_t{15})));
            particles.destroy(a);
            EXPECT_EQ(egb_pool_is_live(one, a), !is_checked);
            particles = pool<particle>();
            EXPECT_FALSE(egb_pool_is_live(one, a));
        }
    }
}

TEST_F(pool_face, at_level_off_what_is_no_block_of_the_pool_is_refused_too)
{
    events          seen;
    pool<particle>  particles(limited(0, "off"));
    particle* const a = particles.make(1.0, 1);
    particles.destroy(reinterpret_cast<particle*>(outside));
    EXPECT_EQ(particle::alive, 1);
    particles.destroy(a);
    EXPECT_EQ(particle::alive, 0);
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_FOREIGN);
}

TEST_F(pool_face, its_end_destroys_the_pool_and_no_object)
{
    events                seen;
    pool_handle<particle> handle;
    EXPECT_FALSE(handle.alive());
    {
        pool<particle> particles;
        handle = particles.handle();
        EXPECT_TRUE(handle.alive());
        EXPECT_NE(handle.make(1.0, 1), nullptr);
        EXPECT_EQ(particles.in_use(), 1u);
    }
    EXPECT_EQ(particle::alive, 1);
    EXPECT_FALSE(handle.alive());
    EXPECT_EQ(handle.make(2.0, 2), nullptr);
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_STALE);
    EXPECT_EQ(particle::alive, 1);
}

TEST_F(pool_face, a_pool_moves_with_its_blocks_and_leaves_none_behind)
{
    events          seen;
    pool<particle>  first;
    particle* const a      = first.make(1.0, 1);
    const auto      handle = first.handle();
    pool<particle>  second(std::move(first));
    EXPECT_FALSE(first);
    EXPECT_EQ(first.status(), EGB_INVALID);
    EXPECT_EQ(first.in_use(), 0u);
    EXPECT_EQ(first.make(2.0, 2), nullptr);
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_NO_POOL);
    EXPECT_TRUE(second.handle() == handle);
    second.destroy(a);
    EXPECT_EQ(particle::alive, 0);

    pool<particle> third;
    const auto     ended = third.handle();
    EXPECT_TRUE(ended != handle);
    third = std::move(second);
    EXPECT_FALSE(ended.alive());
    EXPECT_TRUE(handle.alive());
    EXPECT_EQ(third.status(), EGB_OK);
    pool<particle>& same = third;
    third                = std::move(same);
    EXPECT_TRUE(third);
}

TEST_F(pool_face, a_pool_that_cannot_be_says_why_and_has_no_blocks)
{
    events         seen;
    pool<particle> wrong(limited(0, "never heard of"));
    EXPECT_FALSE(wrong);
    EXPECT_EQ(wrong.status(), EGB_INVALID);
    EXPECT_EQ(wrong.make(1.0, 1), nullptr);
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_NO_POOL);
    EXPECT_EQ(wrong.stats().capacity, 0u);
    EXPECT_EQ(wrong.reserve(1), EGB_INVALID);
    EXPECT_EQ(wrong.trim(), 0u);
}

// Holders of a pool by their line in this file; 0: of no place that was said.
std::map<unsigned, std::size_t> lines_of(egb_pool pool)
{
    std::map<unsigned, std::size_t> lines;
    const auto                      add = [](const egb_holder* holder, void* user) {
        const bool is_here = holder->file != nullptr && std::string(holder->file) == __FILE__;
        (*static_cast<std::map<unsigned, std::size_t>*>(user))[is_here ? holder->line : 0] +=
            holder->blocks;
    };
    EXPECT_EQ(egb_holders_each(pool, add, &lines), EGB_OK);
    return lines;
}

TEST_F(pool_face, a_tracked_pool_knows_the_places_that_say_here)
{
    pool<particle>                        particles(limited(0, "track"));
    const unsigned                        first    = __LINE__;
    particle* const                       one      = particles.make(eggbox::here{}, 1.5, 1);
    const auto                            owned    = particles.make_unique(eggbox::here{}, 2.5, 2);
    void* const                           bare     = particles.alloc();
    void* const                           other    = particles.handle().alloc();
    particle* const                       silent   = particles.make(3.5, 3);
    const auto                            lines    = lines_of(particles.handle().get());
    const std::map<unsigned, std::size_t> expected = {
        {0, 1}, {first + 1, 1}, {first + 2, 1}, {first + 3, 1}, {first + 4, 1}
    };
    EXPECT_EQ(lines, expected);
    EXPECT_EQ(owned->id + one->id, 3);
    particles.destroy(one);
    particles.destroy(silent);
    particles.free(bare);
    particles.free(other);
}

TEST_F(pool_face, children_end_with_their_parent)
{
    events         unexpected;
    pool<particle> child;
    {
        pool<wide>   parent;
        pool_options options{};
        options.parent = parent.handle().get();
        child          = pool<particle>(options);
        EXPECT_TRUE(child);
        EXPECT_NE(child.make(1.0, 1), nullptr);
    }
    EXPECT_FALSE(child);
    EXPECT_EQ(child.status(), EGB_OK) << "it was made";
    EXPECT_EQ(child.in_use(), 0u);
}

TEST_F(pool_face, memory_can_be_had_in_advance_and_given_back)
{
    events         unexpected;
    pool<particle> particles;
    ASSERT_EQ(particles.reserve(5000), EGB_OK);
    EXPECT_GE(particles.stats().capacity, 5000u);
    EXPECT_GT(particles.trim(1), 0u);
    EXPECT_GT(particles.stats().bytes_held, 0u);
    EXPECT_GT(particles.trim(), 0u);
    EXPECT_EQ(particles.stats().bytes_held, 0u);
}

TEST_F(pool_face, a_pointer_owns_its_object)
{
    events         unexpected;
    pool<particle> particles(limited(2));
    {
        pool_ptr<particle> a = particles.make_unique(1.0, 1);
        pool_ptr<particle> b = particles.make_unique(2.0, 2);
        EXPECT_FALSE(particles.make_unique(3.0, 3));
        ASSERT_TRUE(a && b);
        EXPECT_EQ(b->id, 2);
        a = std::move(b);
        EXPECT_EQ(particle::alive, 1);
        const pool_ptr<const particle> constant(std::move(a));
        EXPECT_EQ(constant->id, 2);
        EXPECT_EQ(particles.in_use(), 1u);
    }
    EXPECT_EQ(particle::alive, 0);
    EXPECT_EQ(particles.in_use(), 0u);
}

TEST_F(pool_face, a_pointer_that_outlives_its_pool_is_noticed)
{
    events             seen;
    pool_ptr<particle> late;
    {
        pool<particle> particles;
        late = particles.make_unique(1.0, 1);
    }
    late.reset();
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_FOREIGN);
    EXPECT_EQ(particle::alive, 1) << "no destructor on memory that is gone";
}

TEST_F(pool_face, a_trivial_object_is_freed_as_any)
{
    events    seen;
    pool<int> ints;
    int*      a = ints.make(7);
    ASSERT_NE(a, nullptr);
    pool_ptr<int>(ints.make(8)).reset();
    EXPECT_EQ(ints.in_use(), 1u);
    ints.destroy(a);
    EXPECT_EQ(ints.in_use(), 0u);
    ints.destroy(a);
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_DOUBLE_FREE);
}

TEST_F(pool_face, another_thread_may_destroy_what_this_one_made)
{
    events         unexpected;
    pool<particle> particles;
    const auto     handle = particles.handle();
    auto           owned  = particles.make_unique(1.0, 1);
    particle*      made   = handle.make(2.0, 2);
    std::thread([&] {
        handle.destroy(made);
        owned.reset();
    }).join();
    EXPECT_EQ(particle::alive, 0);
    EXPECT_EQ(particles.in_use(), 0u);
}

TEST_F(pool_face, blocks_without_objects_can_be_had_too)
{
    events         unexpected;
    pool<particle> particles;
    void* const    block = particles.alloc();
    ASSERT_NE(block, nullptr);
    particles.free(block);
    particles.free(nullptr);
    EXPECT_EQ(particle::alive, 0);
    EXPECT_EQ(particles.in_use(), 0u);
}
