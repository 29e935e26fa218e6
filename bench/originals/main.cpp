// SPDX-License-Identifier: MIT
// Runs one case for one rival and prints JSON.
//
//     eggbox_originals --list                     # a line for each: case, rival
//     eggbox_originals CASE RIVAL [--quick]
#include "originals.hpp"

#include "../pin.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>

namespace
{

using namespace originals;

// The file that malloc is in: it shows that none is preloaded.
const char* malloc_file()
{
    Dl_info where{};
    void*   address = reinterpret_cast<void*>(&std::malloc);
    return dladdr(address, &where) != 0 && where.dli_fname != nullptr ? where.dli_fname : "unknown";
}

// The clock's own part of each column's time: a system call, which is not little beside 500
// allocations.
double clock_nanoseconds()
{
    double least = 1e9;
    for (int i = 0; i < 1000; i++) {
        const double from = nanoseconds();
        const double took = nanoseconds() - from;
        least             = took < least ? took : least;
    }
    return least;
}

void print_record(const record& one, std::size_t columns, double clock)
{
    std::printf(
        "{\"size\": %zu, \"hash\": \"%016llx\", \"passes\": [",
        one.size,
        static_cast<unsigned long long>(one.hash)
    );
    for (std::size_t pass = 0; pass < one.pass_count; pass++) {
        std::printf(pass == 0 ? "[" : ", [");
        for (std::size_t column = 0; column < columns; column++) {
            const double took = one.passes[pass][column];
            std::printf(column == 0 ? "%.5g" : ", %.5g", took > clock ? took - clock : 0);
        }
        std::printf("]");
    }
    std::printf("]}");
}

void print(const one_case& what, const records& found)
{
    const double clock = std::strcmp(what.unit, "ns") == 0 ? clock_nanoseconds() : 0;
    std::printf("{\"case\": \"%s\", \"rival\": \"%s\", ", what.name.text, what.rival);
    std::printf("\"unit\": \"%s\", \"malloc\": \"%s\", ", what.unit, malloc_file());
    std::printf("\"clock\": %.0f, \"columns\": [", clock);
    std::size_t columns = 0;
    for (; columns < columns_max && what.columns[columns] != nullptr; columns++) {
        std::printf(columns == 0 ? "\"%s\"" : ", \"%s\"", what.columns[columns]);
    }
    std::printf("], \"records\": [");
    for (std::size_t i = 0; i < found.count; i++) {
        std::printf(i == 0 ? "" : ", ");
        print_record(found.all[i], columns, clock);
    }
    std::printf("]}\n");
}

}  // namespace

int main(int argc, char** argv)
{
    static all_cases cases;
    add_kenwright(cases);
    add_elr(cases);
    add_allocator(cases);
    add_xallocator(cases);
    add_c_allocator(cases);
    add_containers(cases);

    if (argc == 2 && std::strcmp(argv[1], "--list") == 0) {
        for (const one_case& one : cases) {
            std::printf("%s %s\n", one.name.text, one.rival);
        }
        return 0;
    }
    const bool quick = argc == 4 && std::strcmp(argv[3], "--quick") == 0;
    if (argc != 3 && !quick) {
        std::fputs("usage: eggbox_originals --list | CASE RIVAL [--quick]\n", stderr);
        return 2;
    }
    for (const one_case& one : cases) {
        if (std::strcmp(one.name.text, argv[1]) == 0 && std::strcmp(one.rival, argv[2]) == 0) {
            static records found;
            bench::pin(0);
            one.run(one, scale{quick}, found);
            print(one, found);
            return 0;
        }
    }
    std::fputs("there is no such case for this rival\n", stderr);
    return 2;
}
