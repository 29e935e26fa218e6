// SPDX-License-Identifier: MIT
// Frames from one process to others: the shared pool beside Boost.Interprocess.
//
// usage: eggbox_processes WAY cycle BYTES ROUNDS           ns of one frame, both ends in one thread
//        eggbox_processes WAY wake BYTES FRAMES READERS    from publish to processes that sleep
// WAY: eggbox, boost. `cycle` prints the fastest and the median of the rounds; `wake` prints, in
// microseconds, the median, 90 % and 99 % of all readers, and the page faults of a frame. One byte
// of each page is written and read, outside the measured time.
#include "eggbox/shared.h"

#include <boost/interprocess/ipc/message_queue.hpp>
#include <boost/interprocess/managed_shared_memory.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace
{

constexpr size_t frames_most  = 8;  // that exist at one time
constexpr int    warm_up      = 20;
constexpr int    cycles_round = 1000;

struct head {
    uint64_t              sent_ns;
    int32_t               number;   // from 0, those before the measured ones too
    std::atomic<uint32_t> readers;  // that have not read it; for the way that does not count
};

uint64_t now_ns()
{
    const auto since = std::chrono::steady_clock::now().time_since_epoch();
    return static_cast<uint64_t>(std::chrono::nanoseconds(since).count());
}

[[noreturn]] void fail(const char* what)
{
    (void)std::fprintf(stderr, "%s\n", what);
    std::_Exit(1);
}

// A way to pass frames. One object is made before the readers' processes are.
class way
{
  public:
    way()                      = default;
    way(const way&)            = delete;
    way& operator=(const way&) = delete;
    virtual ~way()             = default;

    virtual void  open_reader(unsigned number) = 0;
    virtual head* begin()                      = 0;
    virtual void  send(head* frame)            = 0;
    virtual head* receive()                    = 0;
    virtual void  done(head* frame)            = 0;
};

class with_eggbox : public way
{
  public:
    with_eggbox(size_t bytes, unsigned)
    {
        egb_shared_options options = {};
        options.block_bytes        = bytes;
        options.count              = frames_most;
        options.feed_count         = frames_most / 2;
        options.on_full            = EGB_SHARED_DROP_OLDEST;
        options.flags              = EGB_SHARED_PREFAULT;
        if (egb_shared_create(&pool_, &options) != EGB_OK) {
            fail("no pool");
        }
    }

    ~with_eggbox() override
    {
        egb_shared_close(reader_);
        egb_shared_close(pool_);
    }

    void open_reader(unsigned) override
    {
        const int file = egb_shared_fd(pool_);
        if (egb_shared_attach_fd(&reader_, file, EGB_SHARED_READ_ONLY | EGB_SHARED_PREFAULT) !=
            EGB_OK) {
            fail("no attachment");
        }
    }

    head* begin() override
    {
        return static_cast<head*>(egb_shared_alloc(pool_));
    }

    void send(head* frame) override
    {
        if (egb_shared_publish(pool_, frame, nullptr, nullptr) != EGB_OK) {
            fail("not published");
        }
        egb_shared_release(pool_, frame);
    }

    head* receive() override
    {
        if (egb_shared_next(reader_, seen_.sequence, EGB_SHARED_FOREVER, &seen_) != EGB_OK) {
            fail("nothing came");
        }
        return static_cast<head*>(seen_.block);
    }

    void done(head* frame) override
    {
        egb_shared_release(reader_, frame);
    }

  private:
    egb_shared*   pool_   = nullptr;
    egb_shared*   reader_ = nullptr;
    egb_published seen_   = {};
};

// A segment, a queue of handles for each reader, and a count in each frame.
class with_boost : public way
{
    using queue   = boost::interprocess::message_queue;
    using segment = boost::interprocess::managed_shared_memory;
    using handle  = segment::handle_t;

  public:
    with_boost(size_t bytes, unsigned readers)
        : name_("eggbox-bench-" + std::to_string(getpid())), bytes_(bytes),
          memory_(
              boost::interprocess::create_only, name_.c_str(), (bytes + 4096) * frames_most + 65536
          )
    {
        for (unsigned i = 0; i < readers; i++) {
            queues_.push_back(std::make_unique<queue>(
                boost::interprocess::create_only, name_of(i).c_str(), frames_most, sizeof(handle)
            ));
        }
    }

    ~with_boost() override
    {
        boost::interprocess::shared_memory_object::remove(name_.c_str());
        for (unsigned i = 0; i < queues_.size(); i++) {
            queue::remove(name_of(i).c_str());
        }
    }

    void open_reader(unsigned number) override
    {
        number_ = number;
    }

    head* begin() override
    {
        return static_cast<head*>(memory_.allocate(bytes_));
    }

    void send(head* frame) override
    {
        const handle text = memory_.get_handle_from_address(frame);
        frame->readers    = static_cast<uint32_t>(queues_.size());
        for (const auto& one : queues_) {
            one->send(&text, sizeof text, 0);
        }
    }

    head* receive() override
    {
        handle           text  = 0;
        queue::size_type bytes = 0;
        unsigned         rank  = 0;
        queues_[number_]->receive(&text, sizeof text, bytes, rank);
        return static_cast<head*>(memory_.get_address_from_handle(text));
    }

    void done(head* frame) override
    {
        if (frame->readers.fetch_sub(1) == 1) {
            memory_.deallocate(frame);
        }
    }

  private:
    std::string name_of(unsigned number) const
    {
        return name_ + "-" + std::to_string(number);
    }

    std::string                         name_;
    size_t                              bytes_;
    segment                             memory_;
    std::vector<std::unique_ptr<queue>> queues_;
    unsigned                            number_ = 0;
};

std::unique_ptr<way> make_way(const std::string& name, size_t bytes, unsigned readers)
{
    if (name == "eggbox") {
        return std::make_unique<with_eggbox>(bytes, readers);
    }
    return std::make_unique<with_boost>(bytes, readers);
}

void measure_cycles(way* one, int rounds)
{
    std::vector<double> times;
    one->open_reader(0);
    for (int round = 0; round <= rounds; round++) {
        const uint64_t start = now_ns();
        for (int i = 0; i < cycles_round; i++) {
            one->send(one->begin());
            one->done(one->receive());
        }
        times.push_back(static_cast<double>(now_ns() - start) / cycles_round);
    }
    times.erase(times.begin());
    std::sort(times.begin(), times.end());
    std::printf("%.0f %.0f\n", times.front(), times[times.size() / 2]);
}

// ---- processes ----------------------------------------------------------------------------------

struct results {
    std::atomic<uint64_t> faults;
    std::atomic<unsigned> ready;  // readers
    std::atomic<size_t>   count;
    uint64_t              waits_ns[1];  // for each reader and each frame that it saw
};

uint64_t faults_so_far()
{
    rusage used = {};
    getrusage(RUSAGE_SELF, &used);
    return static_cast<uint64_t>(used.ru_minflt + used.ru_majflt);
}

void write_pages(head* frame, size_t bytes)
{
    for (size_t at = 4096; at < bytes; at += 4096) {
        reinterpret_cast<volatile char*>(frame)[at] = 1;
    }
}

void read_pages(const head* frame, size_t bytes)
{
    for (size_t at = 4096; at < bytes; at += 4096) {
        (void)reinterpret_cast<const volatile char*>(frame)[at];
    }
}

// A reader that is late gets the frames that are left; the last one always is.
void read_frames(way* one, unsigned number, int frames, size_t bytes, results* out)
{
    uint64_t before = 0;
    one->open_reader(number);
    out->ready++;
    for (int at = 0; at < warm_up + frames - 1;) {
        head* const    frame = one->receive();
        const uint64_t now   = now_ns();
        if (at < warm_up) {
            before = faults_so_far();
        } else {
            out->waits_ns[out->count++] = now - frame->sent_ns;
        }
        at = frame->number;
        read_pages(frame, bytes);
        one->done(frame);
    }
    out->faults += faults_so_far() - before;
}

void write_frames(way* one, int frames, size_t bytes, results* out)
{
    uint64_t before = 0;
    for (int at = 0; at < warm_up + frames; at++) {
        if (at == warm_up) {
            before = faults_so_far();
        }
        usleep(2000);  // the readers sleep by now
        head* const frame = one->begin();
        write_pages(frame, bytes);
        frame->number  = at;
        frame->sent_ns = now_ns();
        one->send(frame);
    }
    out->faults += faults_so_far() - before;
}

void measure_wakes(way* one, size_t bytes, int frames, unsigned readers)
{
    const size_t   count = readers * static_cast<size_t>(frames);
    results* const out   = static_cast<results*>(mmap(
        nullptr,
        sizeof(results) + count * sizeof(uint64_t),
        PROT_READ | PROT_WRITE,
        MAP_SHARED | MAP_ANONYMOUS,
        -1,
        0
    ));
    for (unsigned i = 0; i < readers; i++) {
        if (fork() == 0) {
            read_frames(one, i, frames, bytes, out);
            std::_Exit(0);
        }
    }
    while (out->ready < readers) {
        usleep(1000);
    }
    write_frames(one, frames, bytes, out);
    int  status = 0;
    bool is_bad = false;
    while (wait(&status) > 0) {
        is_bad = is_bad || status != 0;
    }
    if (is_bad) {
        fail("a reader failed");
    }
    const size_t seen = out->count;
    std::sort(out->waits_ns, out->waits_ns + seen);
    const auto part = [&](size_t percent) {
        return static_cast<double>(out->waits_ns[(seen - 1) * percent / 100]) / 1000;
    };
    std::printf(
        "%.1f %.1f %.1f %.2f\n",
        part(50),
        part(90),
        part(99),
        static_cast<double>(out->faults.load()) / frames
    );
}

}  // namespace

int main(int count, char** words)
{
    const std::string name = count > 1 ? words[1] : "";
    if (count < 5 || (name != "eggbox" && name != "boost")) {
        fail("usage: eggbox_processes eggbox|boost cycle|wake BYTES ROUNDS|FRAMES [READERS]");
    }
    const size_t   bytes   = std::strtoull(words[3], nullptr, 10);
    const unsigned readers = count > 5 ? static_cast<unsigned>(std::atoi(words[5])) : 1;
    const auto     one     = make_way(name, bytes, readers);
    if (std::strcmp(words[2], "cycle") == 0) {
        measure_cycles(one.get(), std::atoi(words[4]));
    } else {
        measure_wakes(one.get(), bytes, std::atoi(words[4]), readers);
    }
    return 0;
}
