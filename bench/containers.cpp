// SPDX-License-Identifier: MIT
// Are the x-containers worth it? Each is filled and emptied as stl_allocator's own benchmark did,
// in turns with the container of the library on the system's malloc, in one process. glibc keeps
// its memory; otherwise most of its time would be page faults.
#include "fill.hpp"

#include "eggbox/compat/xlist.h"
#include "eggbox/compat/xmap.h"
#include "eggbox/compat/xset.h"
#include "eggbox/compat/xstring.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#if defined(__GLIBC__)
  #include <malloc.h>
#endif

namespace
{

using namespace bench;

// Keys at random, the same for all.
std::vector<int> random_keys(int count)
{
    std::vector<int> keys;
    std::uint32_t    state = 1;
    for (int i = 0; i < count; i++) {
        state = state * 1664525u + 1013904223u;
        keys.push_back(static_cast<int>(state >> 4));
    }
    return keys;
}

const std::vector<int>* keys = nullptr;

template <class Map>
std::size_t fill_random(int count)
{
    Map map;
    for (int i = 0; i < count; i++) {
        map[(*keys)[static_cast<std::size_t>(i)]] = 'a';
    }
    const std::size_t size = map.size();
    map.clear();
    return size;
}

template <class Set>
std::size_t fill_set(int count)
{
    Set set;
    for (int i = 0; i < count; i++) {
        set.insert(i);
    }
    const std::size_t size = set.size();
    set.clear();
    return size;
}

using nanoseconds = std::chrono::duration<double, std::nano>;
using pattern     = std::size_t (*)(int count);

double time_of(pattern run, int count, std::size_t* size)
{
    const auto start = std::chrono::steady_clock::now();
    *size            = run(count);
    return nanoseconds(std::chrono::steady_clock::now() - start).count() / count;
}

double median(std::vector<double> times)
{
    std::sort(times.begin(), times.end());
    return times[times.size() / 2];
}

// In turns, so that other work of the machine slows both. The first round is not counted. Returns 0
// if both did the same.
int compare(const char* name, pattern theirs, pattern ours, int count, int rounds)
{
    std::vector<double> std_times, x_times, ratios;
    std::size_t         std_size = 0, x_size = 0;
    for (int round = 0; round <= rounds; round++) {
        const double one   = time_of(theirs, count, &std_size);
        const double other = time_of(ours, count, &x_size);
        if (round != 0) {
            std_times.push_back(one);
            x_times.push_back(other);
            ratios.push_back(other / one);
        }
    }
    std::printf(
        "%-32s %8.1f %8.1f %8.2f\n", name, median(std_times), median(x_times), median(ratios)
    );
    return std_size != x_size;
}

template <class T>
using with_x = stl_allocator<T>;

template <template <class> class Alloc>
using hashed = std::
    unordered_map<int, char, std::hash<int>, std::equal_to<int>, Alloc<std::pair<const int, char>>>;

}  // namespace

int main(int argc, char** argv)
{
    const bool is_smoke = argc > 1 && std::strcmp(argv[1], "--smoke") == 0;
    const int  count    = is_smoke ? 100 : 10000;
    const int  rounds   = is_smoke ? 1 : 201;
#if defined(__GLIBC__)
    (void)mallopt(M_TRIM_THRESHOLD, 1 << 30);
    (void)mallopt(M_TOP_PAD, 1 << 28);
#endif
    const std::vector<int> at_random = random_keys(count);
    keys                             = &at_random;

    using std_map     = std::map<int, char>;
    using x_map       = xmap<int, char>;
    using std_strings = std::list<std::string>;
    using x_strings   = xlist<xstring>;

    std::printf("%-32s %8s %8s %8s\n", "ns an element, medians", "std", "x", "ratio");
    int differences = 0;
    differences += compare("list", fill_list<std::list<int>>, fill_list<xlist<int>>, count, rounds);
    differences += compare("map, keys in order", fill_map<std_map>, fill_map<x_map>, count, rounds);
    differences +=
        compare("map, keys at random", fill_random<std_map>, fill_random<x_map>, count, rounds);
    differences +=
        compare("set, keys in order", fill_set<std::set<int>>, fill_set<xset<int>>, count, rounds);
    differences += compare(
        "unordered_map", fill_map<hashed<std::allocator>>, fill_map<hashed<with_x>>, count, rounds
    );
    differences += compare(
        "list of strings", fill_strings<std_strings>, fill_strings<x_strings>, count, rounds
    );
    return differences == 0 ? 0 : 1;
}
