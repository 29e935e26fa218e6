// SPDX-License-Identifier: MIT
// eggbox-demo: a packet pipeline on malloc and on fixed pools, and what size to give the pools.
#include "report.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>

#include <unistd.h>

namespace
{

using namespace demo;

constexpr char usage[] =
    "usage: eggbox-demo [options] [CAPTURE]\n"
    "\n"
    "Plays a packet capture through a pipeline that finds flows and puts TCP streams together, on\n"
    "malloc and on fixed pools. Prints the time and memory of each, and what size to give the "
    "pools.\n"
    "\n"
    "CAPTURE        a file in the pcap format, of Ethernet frames; default: the one that came "
    "along\n"
    "--rounds N     how often to play it; default: until it makes about 5 million packets\n"
    "--sites N      at how many sites at once, up to 1000; default 64, fewer for a large capture\n"
    "--runs N       how often to measure each variant; default 5\n"
    "--capacity N   the most blocks each pool gets; default: more than enough\n"
    "--json         print for a program, not for a person\n"
    "--help         print this\n"
    "\n"
    "Exit status: 0 done, also if a pool was too small, which is reported; 1 wrong usage; 2 the\n"
    "capture cannot be used, or the variants gave different results.\n";

enum exit_status { exit_done = 0, exit_usage = 1, exit_failure = 2 };

struct options {
    std::string   path     = EGGBOX_DEMO_CAPTURE;
    std::uint32_t rounds   = 0;  // 0: find out
    std::uint32_t sites    = 0;  // 0: find out
    std::uint32_t runs     = 5;
    std::uint32_t capacity = UINT32_MAX;
    bool          json     = false;
};

struct bad_usage : std::runtime_error {
    using std::runtime_error::runtime_error;
};

std::uint32_t read_number(const std::string& name, const char* text, std::uint32_t max)
{
    char* end = nullptr;
    errno     = 0;
    if (text == nullptr || *text < '0' || *text > '9') {
        throw bad_usage(name + " needs a number");
    }
    const unsigned long long number = std::strtoull(text, &end, 10);
    if (*end != '\0' || errno != 0 || number < 1 || number > max) {
        throw bad_usage(name + " needs a number from 1 to " + std::to_string(max));
    }
    return static_cast<std::uint32_t>(number);
}

// Returns whether it took the value, too.
bool read_option(options& out, const std::string& name, const char* value)
{
    if (name == "--rounds") {
        out.rounds = read_number(name, value, 1'000'000);
    } else if (name == "--sites") {
        out.sites = read_number(name, value, 1000);
    } else if (name == "--runs") {
        out.runs = read_number(name, value, 1000);
    } else if (name == "--capacity") {
        out.capacity = read_number(name, value, UINT32_MAX);
    } else if (name == "--json") {
        out.json = true;
        return false;
    } else {
        throw bad_usage("unknown option " + name);
    }
    return true;
}

options read_options(char** arguments)
{
    options out;
    bool    has_path = false;
    for (; *arguments != nullptr; arguments++) {
        if (**arguments == '-') {
            arguments += read_option(out, *arguments, arguments[1]);
        } else if (has_path) {
            throw bad_usage("more than one capture");
        } else {
            out.path = *arguments;
            has_path = true;
        }
    }
    return out;
}

std::uint32_t sites_for(std::size_t frames)
{
    constexpr std::size_t packets_a_round_max = 2'000'000;  // each takes 16 bytes in the schedule
    return static_cast<std::uint32_t>(std::clamp<std::size_t>(packets_a_round_max / frames, 1, 64));
}

std::uint32_t rounds_for(std::size_t packets_a_round)
{
    constexpr std::size_t packets_wanted = 5'000'000;
    return static_cast<std::uint32_t>(std::max<std::size_t>(1, packets_wanted / packets_a_round));
}

// The variants take turns, and another one begins each time, so that a busy machine harms all
// alike.
void run_all(experiment& out, const replay& traffic, const options& wanted)
{
    for (const variant_kind& kind : variant_kinds()) {
        out.measurements.push_back({kind, {}});
    }
    const std::size_t count = out.measurements.size();
    if (isatty(STDERR_FILENO) != 0) {
        std::fprintf(stderr, "measuring %zu variants, %u times each ...\n", count, wanted.runs);
    }
    for (std::size_t turn = 0; turn < wanted.runs * count; turn++) {
        measurement& next = out.measurements[(turn + turn / count) % count];
        next.runs.push_back(run_trial(next.kind.id, traffic, out.rounds, wanted.capacity));
    }
}

exit_status run(const options& wanted)
{
    const capture       source = read_capture(wanted.path);
    const std::size_t   frames = source.frames.size();
    const std::uint32_t sites  = wanted.sites != 0 ? wanted.sites : sites_for(frames);
    const replay        traffic{source, sites};
    experiment          done{};
    done.capture_name   = wanted.path.substr(wanted.path.rfind('/') + 1);
    done.capture_frames = frames;
    done.capture_us     = source.frames.back().time_us;
    done.sites          = sites;
    done.rounds         = wanted.rounds != 0 ? wanted.rounds : rounds_for(frames * sites);
    run_all(done, traffic, wanted);
    (wanted.json ? print_json : print_text)(done);
    return compare(done) == agreement::different ? exit_failure : exit_done;
}

}  // namespace

int main(int argc, char** argv)
{
    options wanted;
    try {
        for (int i = 1; i < argc; i++) {
            if (std::strcmp(argv[i], "--help") == 0) {
                std::fputs(usage, stdout);
                return exit_done;
            }
        }
        wanted = read_options(argv + 1);
        return run(wanted);
    } catch (const bad_usage& error) {
        std::fprintf(stderr, "eggbox-demo: %s; --help says more\n", error.what());
        return exit_usage;
    } catch (const bad_capture& error) {
        std::fprintf(stderr, "eggbox-demo: %s %s\n", wanted.path.c_str(), error.what());
    } catch (const std::exception& error) {
        std::fprintf(stderr, "eggbox-demo: %s\n", error.what());
    }
    return exit_failure;
}
