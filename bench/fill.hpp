// SPDX-License-Identifier: MIT
// Containers, filled and emptied as the benchmark of stl_allocator does it. Each returns the number
// of elements.
#ifndef EGGBOX_BENCH_FILL_HPP
#define EGGBOX_BENCH_FILL_HPP

#include <cstddef>

namespace bench
{

template <class List>
std::size_t fill_list(int count)
{
    List list;
    for (int i = 0; i < count; i++) {
        list.push_back(123);
    }
    const std::size_t size = list.size();
    list.clear();
    return size;
}

template <class Map>
std::size_t fill_map(int count)
{
    Map map;
    for (int i = 0; i < count; i++) {
        map[i] = 'a';
    }
    const std::size_t size = map.size();
    map.clear();
    return size;
}

template <class List>
std::size_t fill_strings(int count)
{
    List list;
    for (int i = 0; i < count; i++) {
        typename List::value_type text("benchmark");
        text += "text of 206 characters text of 206 characters text of 206 characters text of 206 "
                "characters text of 206 characters text of 206 characters text of 206 characters "
                "text of 206 characters text of 206 ch";
        list.push_back(text);
    }
    const std::size_t size = list.size();
    list.clear();
    return size;
}

}  // namespace bench

#endif  // EGGBOX_BENCH_FILL_HPP
