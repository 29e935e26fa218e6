// SPDX-License-Identifier: MIT
// A backing that keeps books: it refuses when told to, and notices every range that is given back
// wrongly or not at all.
#ifndef EGGBOX_TESTS_SUPPORT_BACKING_HPP
#define EGGBOX_TESTS_SUPPORT_BACKING_HPP

#include "eggbox/growing.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <memory>
#include <vector>

class counting_backing
{
  public:
    explicit counting_backing(std::size_t granule_ = 64, bool zeroed_ = false)
        : granule(granule_), zeroed(zeroed_)
    {
    }

    ~counting_backing()
    {
        EXPECT_TRUE(out_.empty()) << out_.size() << " ranges were not given back";
    }

    counting_backing(const counting_backing&)            = delete;
    counting_backing& operator=(const counting_backing&) = delete;

    egb_backing get()
    {
        return {reserve, commit, give_back, this, granule, zeroed, extra};
    }

    // The program ends here with the memory that it never gives back.
    void forget()
    {
        out_.clear();
    }

    std::size_t ranges() const
    {
        return out_.size();
    }

    std::size_t bytes() const
    {
        std::size_t sum = 0;
        for (const auto& range : out_) {
            sum += range.second.bytes;
        }
        return sum;
    }

    // Whether it lies wholly in one range.
    bool contains(const void* start, std::size_t length) const
    {
        const auto begin = reinterpret_cast<uintptr_t>(start);
        for (const auto& range : out_) {
            const auto first = reinterpret_cast<uintptr_t>(range.first);
            if (begin >= first && begin + length <= first + range.second.bytes) {
                return true;
            }
        }
        return false;
    }

    std::size_t granule;
    bool        zeroed;
    std::size_t extra       = 0;  // bytes at the end of each range that are ours
    std::size_t misalign    = 0;  // how far ranges start behind a multiple of 64 if granule is 0
    std::size_t most_bytes  = SIZE_MAX;  // a larger range is refused
    std::size_t cut_to      = SIZE_MAX;  // a larger request gets this much, if that is enough
    int         refuse      = 0;         // this request, counted from 1, is refused; 0: none
    int         refuse_from = 0;         // and all from this one on; 0: none
    int         fail_commit = 0;         // this commit, counted from 1, fails; 0: none
    int         requests    = 0;
    int         commits     = 0;
    std::vector<std::size_t> wanted;
    std::vector<std::size_t> leasts;

  private:
    struct lent {
        std::size_t             bytes;
        std::unique_ptr<char[]> memory;
        bool                    is_committed;
    };

    static counting_backing& of(void* user)
    {
        return *static_cast<counting_backing*>(user);
    }

    static void* reserve(void* user, std::size_t least, std::size_t* bytes)
    {
        counting_backing& self = of(user);
        self.requests++;
        self.wanted.push_back(*bytes);
        self.leasts.push_back(least);
        EXPECT_GE(*bytes, least);
        if (self.granule != 0) {
            EXPECT_EQ(least % self.granule, 0u);
            EXPECT_EQ(*bytes % self.granule, 0u);
        }
        if (*bytes > self.cut_to && self.cut_to >= least) {
            *bytes = self.cut_to;
        }
        if (self.requests == self.refuse || *bytes > self.most_bytes ||
            (self.refuse_from != 0 && self.requests >= self.refuse_from)) {
            return nullptr;
        }
        const std::size_t align = self.granule == 0 ? 64 : self.granule;
        lent made{*bytes, std::unique_ptr<char[]>(new char[*bytes + 2 * align]), false};
        std::memset(made.memory.get(), self.zeroed ? 0 : 0xA5, *bytes + 2 * align);
        const auto  address = reinterpret_cast<uintptr_t>(made.memory.get());
        char* const region  = made.memory.get() + (align - address % align) + self.misalign;
        self.out_.emplace(region, std::move(made));
        return region;
    }

    static egb_status commit(void* user, void* region, std::size_t bytes)
    {
        counting_backing& self  = of(user);
        const auto        found = self.out_.find(static_cast<char*>(region));
        if (found == self.out_.end() || found->second.bytes != bytes ||
            found->second.is_committed) {
            ADD_FAILURE() << "commit of what was not reserved, or twice";
            return EGB_INVALID;
        }
        found->second.is_committed = ++self.commits != self.fail_commit;
        return found->second.is_committed ? EGB_OK : EGB_NO_MEMORY;
    }

    static void give_back(void* user, void* region, std::size_t bytes)
    {
        counting_backing& self  = of(user);
        const auto        found = self.out_.find(static_cast<char*>(region));
        if (found == self.out_.end() || found->second.bytes != bytes) {
            ADD_FAILURE() << "given back twice, or not as it was reserved";
            return;
        }
        self.out_.erase(found);
    }

    std::map<char*, lent> out_;
};

// A pool and its backing. The pool is destroyed at its end.
struct growing_pool {
    growing_pool(counting_backing& from, egb_growing_options wanted)
    {
        wanted.backing = from.get();
        EXPECT_EQ(egb_growing_init(&pool, &wanted), EGB_OK);
    }

    ~growing_pool()
    {
        egb_growing_destroy(&pool);
    }

    growing_pool(const growing_pool&)            = delete;
    growing_pool& operator=(const growing_pool&) = delete;

    void* alloc()
    {
        return egb_growing_alloc(&pool);
    }

    void free(void* block)
    {
        egb_growing_free(&pool, block);
    }

    bool whole() const
    {
        return egb_growing_whole(&pool);
    }

    egb_growing pool{};
};

// Small chunks, so that few blocks need several.
inline egb_growing_options small_chunks(std::size_t block_bytes)
{
    egb_growing_options wanted{};
    wanted.block_bytes     = block_bytes;
    wanted.chunk_bytes     = 512;
    wanted.chunk_bytes_max = 2048;
    return wanted;
}

#endif  // EGGBOX_TESTS_SUPPORT_BACKING_HPP
