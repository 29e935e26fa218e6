// SPDX-License-Identifier: MIT
// Video frames: blocks of 6 and 24 MiB, RGB at 1080p and 4K. Three are in flight: the newest is
// filled, the oldest given back. One word of each page is written and read: little beside a real
// frame, but enough to find every page fault. Time per frame, 60 frames after 6 that nobody counts.
//
// Counter: `faults`, minor page faults per frame. scripts/bench.py also runs this under strace with
// two numbers of frames, and takes system calls per frame from the difference.
//
// Expected: an allocator that gives large blocks back at each free has the system clear every page
// of every frame: some 6,000 faults for one at 4K, milliseconds. A pool has none.
#include "rivals/all.hpp"

namespace
{

using namespace bench;

constexpr std::size_t in_flight  = 3;
constexpr std::size_t page_bytes = 4096;
constexpr std::size_t warm_up    = 2 * in_flight;  // then the first is next again

template <class Rival>
class pipeline
{
  public:
    pipeline(Rival& rival, std::size_t frame_bytes) : rival_(rival), frame_bytes_(frame_bytes) {}

    ~pipeline()
    {
        for (void* const frame : frames_) {
            if (frame != nullptr) {
                rival_.give(frame);
            }
        }
    }

    pipeline(const pipeline&)            = delete;
    pipeline& operator=(const pipeline&) = delete;

    // Takes, fills, reads and gives back `count` frames.
    __attribute__((noinline)) std::uint64_t run(std::size_t count)
    {
        std::uint64_t hash = 0;
        for (std::size_t i = 0; i < count; i++) {
            void*& oldest = frames_[i % in_flight];
            if (oldest != nullptr) {
                hash = hash * 31 + each_page(oldest, [](std::uint64_t& word) { return word; });
                rival_.give(oldest);
            }
            oldest = rival_.take();
            keep(oldest);
            each_page(oldest, [i](std::uint64_t& word) { return word = i; });
        }
        return hash;
    }

  private:
    template <class Visit>
    std::uint64_t each_page(void* frame, const Visit& visit)
    {
        std::uint64_t sum = 0;
        for (std::size_t at = 0; at + sizeof sum <= frame_bytes_; at += page_bytes) {
            sum += visit(content(static_cast<std::byte*>(frame) + at));
        }
        settle();
        return sum;
    }

    Rival&      rival_;
    std::size_t frame_bytes_;
    void*       frames_[in_flight] = {};
};

template <class Rival>
void run(benchmark::State& state, std::size_t frame_bytes, std::size_t count)
{
    const std::size_t room = in_flight + 1;
    Rival             rival(warm(frame_bytes * room + slack_bytes), frame_bytes, room);
    pipeline<Rival>   frames(rival, frame_bytes);
    (void)frames.run(warm_up);
    std::size_t   faults = page_faults();
    std::uint64_t hash   = 0;
    while (state.KeepRunningBatch(static_cast<benchmark::IterationCount>(count))) {
        hash = frames.run(count);
    }
    faults                   = page_faults() - faults;
    state.counters["faults"] = static_cast<double>(faults) / static_cast<double>(count);
    same_work(state, case_name("frames", frame_bytes, ""), hash);
}

struct add_one {
    template <class Rival>
    void operator()(std::size_t frame_bytes, std::size_t count) const
    {
        const std::string name = case_name("frames", frame_bytes, Rival::name);
        benchmark::RegisterBenchmark(name.c_str(), run<Rival>, frame_bytes, count)
            ->Iterations(static_cast<benchmark::IterationCount>(count));
    }
};

}  // namespace

void bench::add_frames(scale size)
{
    // No owned magazines: they take no blocks this large.
    using pools = rivals<none, eggbox_check, eggbox_pool, eggbox_pool_off, boost_pool>;
    for (const std::size_t frame_bytes : {1920u * 1080u * 3u, 3840u * 2160u * 3u}) {
        for_each(joined<pools, rivals_of_all_sizes>{}, add_one{}, frame_bytes, size.frames);
    }
}
