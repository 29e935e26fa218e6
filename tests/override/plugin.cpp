// SPDX-License-Identifier: MIT
// A plugin with memory of its own, some of it freed when it is unloaded.
#include <string>
#include <vector>

namespace
{
std::vector<std::string> held(100, std::string(300, 'p'));
}

extern "C" __attribute__((visibility("default"))) unsigned long use_plugin();
unsigned long                                                   use_plugin()
{
    thread_local std::vector<std::string> own(10, std::string(3000, 't'));
    held.emplace_back(1000, 'q');
    return held.size() + own.size();
}
