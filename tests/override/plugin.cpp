// SPDX-License-Identifier: MIT
// A plugin with memory of its own, some of it freed when it is unloaded.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace
{
std::vector<std::string> held(100, std::string(300, 'p'));
}

#if defined(__GLIBC__)
// It gives the arguments of the program to constructors.
__attribute__((constructor)) void say_arguments(int count, char** words)
{
    std::printf("%d arguments, of %s\n", count, count < 1 ? "none" : words[0]);
}
#endif

extern "C" __attribute__((visibility("default"))) unsigned long use_plugin();
unsigned long                                                   use_plugin()
{
    thread_local std::vector<std::string> own(10, std::string(3000, 't'));
    held.emplace_back(1000, 'q');
    return held.size() + own.size();
}

// Gets a block of the program's, frees it, and gives one of its own, for the program to free.
extern "C" __attribute__((visibility("default"))) char* exchange(char* block);
char*                                                   exchange(char* block)
{
    std::free(block);
    return strdup("from a plugin");
}

// Another plugin, which only this one's RUNPATH leads to.
extern "C" __attribute__((visibility("default"))) bool loads_its_neighbour();
bool                                                   loads_its_neighbour()
{
    void* const neighbour = dlopen("liboverride_neighbour.so", RTLD_NOW);
    return neighbour != nullptr && dlclose(neighbour) == 0;
}
