// SPDX-License-Identifier: MIT
// boost::pool<> over the same memory as the others, and with a mutex for several threads.
#ifndef EGGBOX_BENCH_RIVALS_BOOST_HPP
#define EGGBOX_BENCH_RIVALS_BOOST_HPP

#include "../bench.hpp"

#include <boost/pool/pool.hpp>

#include <mutex>

namespace bench
{

// The source of Boost.Pool's memory: cut from one place, front to back.
struct from_place {
    using size_type       = std::size_t;
    using difference_type = std::ptrdiff_t;

    static inline place rest{nullptr, 0};

    static char* malloc(size_type bytes)
    {
        bytes = (bytes + 15) / 16 * 16;
        if (bytes > rest.bytes) {
            return nullptr;
        }
        auto* const at = reinterpret_cast<char*>(rest.at);
        rest           = place{rest.at + bytes, rest.bytes - bytes};
        return at;
    }

    static void free(char*) {}
};

template <bool Reserved>
class boost_pool_in
{
  public:
    static constexpr const char* name = Reserved ? "boost_pool" : "boost_pool_growing";

    // Reserved: the first take gets all blocks at once, so that later ones never grow the pool.
    boost_pool_in(place where, std::size_t block_bytes, std::size_t count)
        : pool_((from_place::rest = where, block_bytes), Reserved ? count : 32)
    {
    }

    void* take()
    {
        return pool_.malloc();
    }

    void give(void* block)
    {
        pool_.free(block);
    }

  private:
    boost::pool<from_place> pool_;
};

using boost_pool         = boost_pool_in<true>;
using boost_pool_growing = boost_pool_in<false>;

// For several threads, as boost::singleton_pool has it by default: a mutex around each call, and
// memory from operator new.
class boost_pool_sync
{
  public:
    static constexpr const char* name = "boost_pool_sync";

    boost_pool_sync(place, std::size_t block_bytes, std::size_t count)
        : pool_(block_bytes, count != 0 ? count : 32)
    {
    }

    void* take()
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        return pool_.malloc();
    }

    void give(void* block)
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        pool_.free(block);
    }

  private:
    std::mutex    mutex_;
    boost::pool<> pool_;
};

}  // namespace bench

#endif  // EGGBOX_BENCH_RIVALS_BOOST_HPP
