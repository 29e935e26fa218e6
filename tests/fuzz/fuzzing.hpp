// SPDX-License-Identifier: MIT
// Shared by the fuzz targets. A target is a function that reads any bytes as a history of calls,
// and compares the library with a model. libFuzzer looks for bytes that get further; standalone.cpp
// runs the corpus, and random bytes, in every build.
#ifndef EGGBOX_TESTS_FUZZ_FUZZING_HPP
#define EGGBOX_TESTS_FUZZ_FUZZING_HPP

#include "eggbox/misuse.h"

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count);

namespace fuzz
{

// Must hold in every history. A fuzzer keeps the input that ends here.
inline void require(bool holds, const char* what)
{
    if (!holds) {
        std::fprintf(stderr, "not so: %s\n", what);
        std::abort();
    }
}

// The bytes of one input. Behind their end all is 0, so that every input is a whole history.
class input
{
  public:
    input(const std::uint8_t* bytes, std::size_t count) : at_(bytes), end_(bytes + count) {}

    bool is_at_end() const
    {
        return at_ == end_;
    }

    unsigned byte()
    {
        return at_ == end_ ? 0 : *at_++;
    }

    // One byte decides, or as many as `bound` has.
    std::size_t below(std::size_t bound)
    {
        std::size_t number = byte();
        for (std::size_t rest = (bound - 1) >> 8; rest != 0; rest >>= 8) {
            number = number << 8 | byte();
        }
        return number % bound;
    }

  private:
    const std::uint8_t* at_;
    const std::uint8_t* end_;
};

// Every misuse since the last look. There is one of these, for the whole process.
class misuses
{
  public:
    misuses()
    {
        egb_misuse_set_handler(note, this);
    }

    misuses(const misuses&)            = delete;
    misuses& operator=(const misuses&) = delete;

    void expect_none()
    {
        require(count_ == 0, "no misuse is reported where there is none");
    }

    void expect(egb_misuse_kind kind)
    {
        require(count_ == 1, "a misuse is reported, and once");
        if (last_ != kind) {
            std::fprintf(stderr, "%s, not %s\n", egb_misuse_text(last_), egb_misuse_text(kind));
        }
        require(last_ == kind, "as what it is");
        count_ = 0;
    }

    // One that is refused, whatever else can be said of it.
    void expect_one()
    {
        require(count_ == 1, "a misuse is reported, and once");
        count_ = 0;
    }

    // Any number, all of this kind.
    void allow(egb_misuse_kind kind)
    {
        require(count_ == 0 || last_ == kind, "nothing else is reported");
        count_ = 0;
    }

    egb_history history() const
    {
        return history_;
    }

  private:
    static void note(const egb_misuse_event* event, void* user)
    {
        auto* const self = static_cast<misuses*>(user);
        self->last_      = event->kind;
        self->history_   = event->history == nullptr ? egb_history{} : *event->history;
        self->count_++;
    }

    egb_misuse_kind last_{};
    egb_history     history_{};
    std::size_t     count_ = 0;
};

inline misuses& the_misuses()
{
    static misuses all;
    return all;
}

}  // namespace fuzz

#endif  // EGGBOX_TESTS_FUZZ_FUZZING_HPP
