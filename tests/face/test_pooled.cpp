// SPDX-License-Identifier: MIT
// eggbox::pooled: class operator new and delete, form by form.
#include "events.hpp"

#include "eggbox/pooled.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <new>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <vector>

namespace
{

struct shape : eggbox::pooled<shape> {
    shape() = default;
    explicit shape(bool throws)
    {
        if (throws) {
            throw std::runtime_error("no");
        }
    }

    shape(const shape&)            = delete;
    shape& operator=(const shape&) = delete;

    virtual ~shape()
    {
        ended++;
    }

    static int ended;
    int        number = 4;
};

int shape::ended = 0;

struct large_shape : shape {
    char rest[200] = {};
};

struct same_size : shape {
};

// Has a pool of its own, below one that has another.
struct own_shape : shape, eggbox::pooled<own_shape> {
    EGGBOX_POOLED(own_shape)

    double radius = 1;
};

struct alignas(128) wide : eggbox::pooled<wide> {
    char bytes[100];
};

struct huge : eggbox::pooled<huge> {
    char bytes[200000];
};

// A class that cannot be derived.
class by_macro final
{
    int number_ = 5;

    EGGBOX_POOLED(by_macro)

    [[nodiscard]] int number() const
    {
        return number_;
    }
};

template <class T>
struct box : eggbox::pooled<box<T>> {
    T value{};
};

std::size_t in_use(egb_pool pool)
{
    egb_pool_stats stats{};
    (void)egb_pool_get_stats(pool, &stats);
    return stats.in_use;
}

bool is_of_heap(const void* block)
{
    return egb_pool_is_ancestor(egb_heap_pool(), egb_pool_of(block));
}

TEST(Pooled, TakesObjectsFromThePoolOfTheirClass)
{
    const events quiet;
    shape* const one = new shape;
    shape* const two = new shape;
    EXPECT_EQ(in_use(shape::pool()), 2u);
    EXPECT_EQ(egb_block_bytes(one), sizeof(shape));
    egb_pool_stats stats{};
    EXPECT_EQ(egb_pool_get_stats(shape::pool(), &stats), EGB_OK);
    const std::string_view name(stats.name);
    EXPECT_EQ(name.substr(name.rfind("shape")), "shape") << name;  // a namespace may be before it
    delete one;
    delete two;
    EXPECT_EQ(in_use(shape::pool()), 0u);
}

TEST(Pooled, ServesDerivedClassesOfAnotherSizeThroughABasePointer)
{
    const events quiet;
    shape::ended = 0;
    std::vector<std::unique_ptr<shape>> shapes;
    for (int i = 0; i < 100; i++) {
        shapes.emplace_back(new shape);
        shapes.emplace_back(new large_shape);
        shapes.emplace_back(new same_size);
    }
    EXPECT_EQ(in_use(shape::pool()), 200u);
    EXPECT_TRUE(is_of_heap(shapes[1].get()));
    shapes.clear();
    EXPECT_EQ(shape::ended, 300);
    EXPECT_EQ(in_use(shape::pool()), 0u);
}

TEST(Pooled, GivesADerivedClassAPoolOfItsOwnWhereItWantsOne)
{
    const events                 quiet;
    const std::unique_ptr<shape> one(new own_shape);
    EXPECT_EQ(in_use(eggbox::pooled<own_shape>::pool()), 1u);
    EXPECT_EQ(in_use(shape::pool()), 0u);
}

TEST(Pooled, ServesArrays)
{
    const events quiet;
    shape* const many = new shape[10];
    EXPECT_EQ(many[9].number, 4);
    EXPECT_TRUE(is_of_heap(many));
    delete[] many;
    shape* const few = new (std::nothrow) shape[3];
    delete[] few;
    wide* const wides = new wide[3];
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(wides) % 128, 0u);
    delete[] wides;
    EXPECT_EQ(in_use(shape::pool()) + in_use(wide::pool()), 0u);
}

TEST(Pooled, AlignsAndServesNothrowAndPlacement)
{
    const events quiet;
    wide* const  one = new wide;
    wide* const  two = new (std::nothrow) wide;
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(one) % 128, 0u);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(two) % 128, 0u);
    EXPECT_EQ(in_use(wide::pool()), 2u);
    delete one;
    delete two;
    alignas(shape) std::array<unsigned char, sizeof(shape)> place{};
    shape* const                                            three = new (place.data()) shape;
    EXPECT_EQ(static_cast<void*>(three), place.data());
    three->~shape();
    void* const asked = shape::operator new(sizeof(shape), std::align_val_t{512});
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(asked) % 512, 0u);
    shape::operator delete(asked, sizeof(shape), std::align_val_t{512});
    shape::operator delete(shape::operator new(sizeof(shape)), sizeof(shape));
    shape::operator delete[](shape::operator new[](100), 100);
    shape::operator delete(nullptr);
    EXPECT_EQ(in_use(shape::pool()), 0u);
}

TEST(Pooled, LosesNothingWhenAConstructorThrows)
{
    const events quiet;
    EXPECT_THROW((void)new shape(true), std::runtime_error);
    EXPECT_THROW((void)new (std::nothrow) shape(true), std::runtime_error);
    EXPECT_EQ(in_use(shape::pool()), 0u);
}

TEST(Pooled, TakesLargeObjectsFromTheHeap)
{
    const events                quiet;
    const std::unique_ptr<huge> one(new huge);
    EXPECT_EQ(huge::pool().generation, 0u);
    EXPECT_GE(egb_block_bytes(one.get()), sizeof(huge));
}

TEST(Pooled, IsThereAsAMacro)
{
    const events    quiet;
    by_macro* const one = new by_macro;
    EXPECT_EQ(one->number(), 5);
    EXPECT_EQ(in_use(eggbox::class_source_<by_macro>::pool()), 1u);
    delete one;
    EXPECT_EQ(in_use(eggbox::class_source_<by_macro>::pool()), 0u);
    box<double>* const boxed = new box<double>;
    EXPECT_EQ(in_use(box<double>::pool()), 1u);
    delete boxed;
}

int calls = 0;

TEST(Pooled, AsksTheNewHandlerAndThrows)
{
    calls                           = 0;
    const std::new_handler previous = std::set_new_handler([] {
        if (++calls == 3) {
            std::set_new_handler(nullptr);
        }
    });
    EXPECT_THROW((void)shape::operator new(PTRDIFF_MAX), std::bad_alloc);
    EXPECT_EQ(calls, 3);
    std::set_new_handler(previous);
    EXPECT_EQ(shape::operator new(PTRDIFF_MAX, std::nothrow), nullptr);
    EXPECT_EQ(shape::operator new[](PTRDIFF_MAX, std::nothrow), nullptr);
}

TEST(Pooled, TellsOfASecondDelete)
{
    events          seen;
    by_macro* const one = new by_macro;
    delete one;
    by_macro::operator delete(one);
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_DOUBLE_FREE);
}

struct contested : eggbox::pooled<contested> {
    long number = 1;
};

TEST(Pooled, HasOnePoolWhateverThreadAsksFirst)
{
    const events                              quiet;
    std::vector<std::thread>                  threads;
    std::array<std::unique_ptr<contested>, 8> made;
    for (std::unique_ptr<contested>& each : made) {
        threads.emplace_back([&each] { each.reset(new contested); });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    EXPECT_EQ(in_use(contested::pool()), made.size());
}

}  // namespace
