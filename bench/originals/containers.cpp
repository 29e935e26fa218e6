// SPDX-License-Identifier: MIT
// The benchmark of D. Lafreniere's stl_allocator: a list, a map and a list of strings, each local
// to the function that fills and empties it; three runs in one process.
#include "originals.hpp"

#include "../fill.hpp"
#include "eggbox/compat/xlist.h"
#include "eggbox/compat/xmap.h"
#include "eggbox/compat/xstring.h"

#include <eggbox/allocator.hpp>
#include <eggbox/memory_resource.hpp>

#include <list>
#include <map>
#include <memory_resource>
#include <string>

namespace
{

using namespace originals;

constexpr std::size_t elements = 10000;
constexpr std::size_t runs     = 3;

struct of_library {
    static constexpr const char* name = "std";

    using list    = std::list<int>;
    using map     = std::map<int, char>;
    using strings = std::list<std::string>;
};

struct of_compat {
    static constexpr const char* name = "x";

    using list    = xlist<int>;
    using map     = xmap<int, char>;
    using strings = xlist<xstring>;
};

struct of_allocator {
    static constexpr const char* name = "eggbox::allocator";

    using string = std::basic_string<char, std::char_traits<char>, eggbox::allocator<char>>;

    using list    = std::list<int, eggbox::allocator<int>>;
    using map     = std::map<int, char, std::less<>, eggbox::allocator<std::pair<const int, char>>>;
    using strings = std::list<string, eggbox::allocator<string>>;
};

// The resource is the default one: see below.
struct of_pmr {
    static constexpr const char* name = "eggbox::memory_resource";

    using list    = std::pmr::list<int>;
    using map     = std::pmr::map<int, char>;
    using strings = std::pmr::list<std::pmr::string>;
};

template <class Rival, std::size_t (*Fill)(int count)>
void run(const one_case& what, scale size, records& out)
{
    static eggbox::memory_resource resource;
    std::pmr::set_default_resource(&resource);
    const int count = static_cast<int>(size.of(what.count));
    record&   mine  = out.all[out.count++];
    for (std::size_t turn = 0; turn < runs; turn++) {
        const double from    = nanoseconds();
        mine.hash            = Fill(count);
        mine.passes[turn][0] = nanoseconds() - from;
        mine.pass_count++;
    }
}

template <class Rival, std::size_t (*Fill)(int count)>
void add_one(all_cases& cases, const char* name)
{
    cases.add(
        {named("%s", name), Rival::name, "ns", {"fill and clear"}, run<Rival, Fill>, 0, elements}
    );
}

template <class Rival>
void add(all_cases& cases)
{
    add_one<Rival, bench::fill_list<typename Rival::list>>(cases, "stl_list");
    add_one<Rival, bench::fill_map<typename Rival::map>>(cases, "stl_map");
    add_one<Rival, bench::fill_strings<typename Rival::strings>>(cases, "stl_strings");
}

}  // namespace

void originals::add_containers(all_cases& cases)
{
    add<of_library>(cases);
    add<of_compat>(cases);
    add<of_allocator>(cases);
    add<of_pmr>(cases);
}
