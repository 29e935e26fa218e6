// SPDX-License-Identifier: MIT
// The library as a shared object, loaded late by a process that has threads already, used by them,
// and closed before they end: the ends of threads call into it still.
#include "stress.hpp"

#include <gtest/gtest.h>

#include <dlfcn.h>

namespace
{

using use_fn = void (*)(std::size_t count);

}  // namespace

TEST(unload, threads_end_after_the_library_was_closed)
{
    for (int round = 0; round < 20; round++) {
        enum : std::size_t { THREADS = 8 };
        stress::barrier step(THREADS + 1);
        use_fn          use = nullptr;
        std::thread     loader([&] {
            step.wait();
            void* const library = dlopen(PLUGIN, RTLD_NOW | RTLD_LOCAL);
            MUST(library != nullptr);
            void* const found = dlsym(library, "use_pools");
            MUST(found != nullptr);
            *reinterpret_cast<void**>(&use) = found;
            step.wait();
            step.wait();
            MUST(dlclose(library) == 0);
            step.wait();
        });
        stress::in_threads(THREADS, [&](std::size_t self) {
            step.wait();  // there are threads before there is a library
            step.wait();
            if (self % 4 != 3) {
                use(100 + self * 50);
            }
            step.wait();
            step.wait();
        });
        loader.join();
    }
}
