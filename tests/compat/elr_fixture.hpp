// SPDX-License-Identifier: MIT
// The module of elr_mpl for the length of a test, and what its callbacks were called with.
#ifndef EGGBOX_TESTS_COMPAT_ELR_FIXTURE_HPP
#define EGGBOX_TESTS_COMPAT_ELR_FIXTURE_HPP

#include "eggbox/compat/elr_mpl.h"
#include "eggbox/pool.h"
#include "events.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

class elr_module
{
  public:
    elr_module()
    {
        EXPECT_NE(elr_mpl_init(), 0);
    }

    ~elr_module()
    {
        elr_mpl_finalize();
    }

    elr_module(const elr_module&)            = delete;
    elr_module& operator=(const elr_module&) = delete;

  private:
    events none_expected_;
};

inline std::vector<void*>& allocated()
{
    static std::vector<void*> blocks;
    return blocks;
}

inline std::vector<void*>& freed()
{
    static std::vector<void*> blocks;
    return blocks;
}

inline void forget_calls()
{
    allocated().clear();
    freed().clear();
}

extern "C" inline void note_alloc(void* block)
{
    allocated().push_back(block);
}

extern "C" inline void note_free(void* block)
{
    freed().push_back(block);
}

inline std::uintptr_t address(const void* block)
{
    return reinterpret_cast<std::uintptr_t>(block);
}

inline bool is_null(const elr_mpl_t& handle)
{
    return handle.pool == nullptr && handle.tag == 0;
}

#endif  // EGGBOX_TESTS_COMPAT_ELR_FIXTURE_HPP
