// SPDX-License-Identifier: MIT
// Runs a fuzz target without a fuzzer: every file of some folders, then random bytes, and the files
// with random changes, always the same.
//
//     usage: fuzz_TARGET RANDOM_INPUTS FOLDER...
#include "fuzzing.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

namespace
{

using bytes = std::vector<std::uint8_t>;

constexpr std::size_t bytes_max = 400;

void read_all(const char* folder, std::vector<bytes>* all)
{
    std::vector<std::filesystem::path> paths;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
        if (entry.is_regular_file()) {
            paths.push_back(entry.path());
        }
    }
    std::sort(paths.begin(), paths.end());
    for (const auto& path : paths) {
        std::ifstream file(path, std::ios::binary);
        all->emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    }
}

bytes random_bytes(std::mt19937& random)
{
    bytes one(random() % bytes_max);
    std::generate(one.begin(), one.end(), [&] { return static_cast<std::uint8_t>(random()); });
    return one;
}

bytes changed(bytes one, std::mt19937& random)
{
    for (std::size_t times = random() % 8; times != 0 && !one.empty(); times--) {
        one[random() % one.size()] = static_cast<std::uint8_t>(random());
    }
    return one;
}

void run(const bytes& one)
{
    (void)LLVMFuzzerTestOneInput(one.data(), one.size());
}

}  // namespace

int main(int count, char** arguments)
{
    if (count < 3) {
        std::fprintf(stderr, "usage: %s RANDOM_INPUTS FOLDER...\n", arguments[0]);
        return 2;
    }
    std::vector<bytes> corpus;
    for (int i = 2; i < count; i++) {
        read_all(arguments[i], &corpus);
    }
    fuzz::require(!corpus.empty(), "there is a corpus");
    for (const bytes& one : corpus) {
        run(one);
    }
    std::mt19937 random(1);
    const auto   inputs = std::strtoul(arguments[1], nullptr, 10);
    for (unsigned long i = 0; i < inputs; i++) {
        run(i % 2 == 0 ? random_bytes(random) : changed(corpus[i / 2 % corpus.size()], random));
    }
    std::printf("%zu files, %lu random inputs\n", corpus.size(), inputs);
    return 0;
}
