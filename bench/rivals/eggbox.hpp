// SPDX-License-Identifier: MIT
// The fixed pool in its three checks, in C and in C++.
#ifndef EGGBOX_BENCH_RIVALS_EGGBOX_HPP
#define EGGBOX_BENCH_RIVALS_EGGBOX_HPP

#include "../bench.hpp"

#include <eggbox/eggbox.hpp>

#include <cstdlib>
#include <memory>

namespace bench
{

inline void must(egb_status status)
{
    if (status != EGB_OK) {
        std::abort();
    }
}

// The default: foreign, interior and double frees are found.
class eggbox_check
{
  public:
    static constexpr const char* name = "eggbox";

    eggbox_check(place where, std::size_t block_bytes, std::size_t count)
    {
        must(egb_fixed_init(&pool_, where.at, block_bytes * count, block_bytes));
    }

    void* take()
    {
        return egb_fixed_alloc(&pool_);
    }

    void give(void* block)
    {
        egb_fixed_free(&pool_, block);
    }

  private:
    egb_fixed pool_;
};

class eggbox_live
{
  public:
    static constexpr const char* name = "eggbox_live_bits";

    eggbox_live(place where, std::size_t block_bytes, std::size_t count)
        : bits_(new std::uint32_t[EGB_FIXED_LIVE_BYTES(count) / EGB_WORD_BYTES])
    {
        must(egb_fixed_init_checked(
            &pool_,
            where.at,
            block_bytes * count,
            block_bytes,
            bits_.get(),
            EGB_FIXED_LIVE_BYTES(count)
        ));
    }

    void* take()
    {
        return egb_fixed_alloc(&pool_);
    }

    void give(void* block)
    {
        egb_fixed_free(&pool_, block);
    }

  private:
    egb_fixed                        pool_;
    std::unique_ptr<std::uint32_t[]> bits_;  // not a vector: that would touch them all
};

class eggbox_unchecked
{
  public:
    static constexpr const char* name = "eggbox_unchecked";

    eggbox_unchecked(place where, std::size_t block_bytes, std::size_t count)
    {
        must(egb_fixed_init_unchecked(&pool_, where.at, block_bytes * count, block_bytes));
    }

    void* take()
    {
        return egb_fixed_alloc_unchecked(&pool_);
    }

    void give(void* block)
    {
        egb_fixed_free_unchecked(&pool_, block);
    }

  private:
    egb_fixed pool_;
};

template <std::size_t Bytes>
struct alignas(16) object {
    unsigned char bytes[Bytes];
};

// A static pool in C with its functions. A macro, as in the programs that use it: the size is a
// constant there.
#define BENCH_STATIC_POOL(block_bytes, count)                                         \
    EGB_FIXED_DEFINE_MARKED(static_##block_bytes, bench::object<block_bytes>, count); \
    class eggbox_static_##block_bytes                                                 \
    {                                                                                 \
      public:                                                                         \
        static constexpr const char* name = "eggbox_static";                          \
                                                                                      \
        eggbox_static_##block_bytes(bench::place, std::size_t, std::size_t)           \
        {                                                                             \
            egb_fixed_clear(&static_##block_bytes);                                   \
        }                                                                             \
                                                                                      \
        void* take()                                                                  \
        {                                                                             \
            return static_##block_bytes##_alloc();                                    \
        }                                                                             \
                                                                                      \
        void give(void* block)                                                        \
        {                                                                             \
            static_##block_bytes##_free(block);                                       \
        }                                                                             \
    }

// A static fixed_pool, the way it is meant to be used: size and number are part of the type, so
// they are template arguments here and those of the constructor are ignored.
template <std::size_t Bytes, std::size_t Count, eggbox::fixed_check Check>
class eggbox_cpp
{
  public:
    static constexpr const char* name =
        Check == eggbox::fixed_check::off ? "eggbox_cpp_unchecked" : "eggbox_cpp";

    eggbox_cpp(place, std::size_t, std::size_t)
    {
        pool_.clear();
    }

    void* take()
    {
        return pool_.alloc();
    }

    void give(void* block)
    {
        pool_.free(block);
    }

  private:
    static inline eggbox::fixed_pool<object<Bytes>, Count, Check> pool_;
};

}  // namespace bench

#endif  // EGGBOX_BENCH_RIVALS_EGGBOX_HPP
