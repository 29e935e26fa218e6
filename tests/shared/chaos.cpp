// SPDX-License-Identifier: MIT
// Chaos: processes that share a pool, hold frames, fork, exec, are stopped, and die at any time.
// One survivor checks that no frame is torn, none changes while it is held, and no block is lost.
//
// usage: shared_chaos [--events N] [--seconds S] [--seed N]
//
// An event is what the survivor does to the others: it starts, kills, stops or continues one. By
// default the numbers of EGGBOX_CHAOS_EVENTS and EGGBOX_SEED. With --seconds it goes on for that
// long.
#include "eggbox/shared.h"

#include <array>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <poll.h>
#include <string>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace
{

constexpr size_t   words_of_frame   = 1000;
constexpr size_t   blocks           = 20;
constexpr size_t   kept             = 6;
constexpr size_t   handles          = 16;
constexpr size_t   least_processes  = 4;
constexpr size_t   most_processes   = 12;  // that the survivor lets live
constexpr size_t   most_attachments = 40;
constexpr int      most_steps       = 3000;  // in the life of a process that nobody kills
constexpr int      torn             = 3;     // exit status
constexpr uint64_t short_wait_ns    = 2000000;

// Counts and messages of all processes, in memory outside the pool, which is under test.
struct board {
    std::atomic<uint64_t> checked;  // frames whose sum was right
    std::atomic<uint64_t> published;
    std::atomic<uint64_t> stale;  // handles that were refused
    std::atomic<uint64_t> opened;
    std::atomic<uint64_t> forks;
    std::atomic<uint64_t> execs;
    std::atomic<uint64_t> is_over;
    // Handles of written frames: the generation times 256, and the index.
    std::array<std::atomic<uint64_t>, handles> frames;
};

class chance
{
  public:
    explicit chance(uint64_t seed) : state_(seed * 2654435769u + 1) {}

    size_t below(size_t limit)
    {
        state_ = state_ * 6364136223846793005u + 1442695040888963407u;
        return static_cast<size_t>(state_ >> 33) % limit;
    }

  private:
    uint64_t state_;
};

struct held_frame {
    void*    block;
    uint64_t seed;
};

// A process that has the pool open.
struct process {
    egb_shared*             pool;
    board*                  shared;
    int                     board_file;
    int                     alive_file;  // a pipe that ends when the survivor does,
    int                     alive_end;   // and the survivor's end of it
    uint32_t                number;      // the pool's number in handles
    const char*             name;
    chance                  random;
    int                     depth = 0;  // of forks
    uint64_t                after = 0;
    std::vector<held_frame> held{};
};

[[noreturn]] void fail(const char* what, uint64_t number = 0)
{
    (void)fprintf(stderr, "chaos: %s (%llu)\n", what, static_cast<unsigned long long>(number));
    _exit(torn);
}

// ---- frames -------------------------------------------------------------------------------------

uint64_t word_of(uint64_t seed, size_t at)
{
    return (seed + at) * 0x9E3779B97F4A7C15u;
}

void write_frame(void* block, uint64_t seed)
{
    auto* const words = static_cast<uint64_t*>(block);
    for (size_t i = 0; i < words_of_frame; i++) {
        words[i] = word_of(seed, i);
    }
}

void check_frame(process& self, const void* block, uint64_t seed)
{
    const auto* const words = static_cast<const uint64_t*>(block);
    for (size_t i = 0; i < words_of_frame; i++) {
        if (words[i] != word_of(seed, i)) {
            fail("a torn frame", i);
        }
    }
    self.shared->checked++;
}

uint64_t note_of(const egb_published& out)
{
    uint64_t seed;
    memcpy(&seed, out.note, sizeof seed);
    return seed;
}

void let_go(process& self)
{
    if (!self.held.empty()) {
        const size_t     at  = self.random.below(self.held.size());
        const held_frame one = self.held[at];
        check_frame(self, one.block, one.seed);
        egb_shared_release(self.pool, one.block);
        self.held.erase(self.held.begin() + static_cast<std::ptrdiff_t>(at));
    }
}

// Releases the frame now, or holds it for a while.
void keep_or_release(process& self, void* block, uint64_t seed)
{
    self.held.push_back({block, seed});
    if (self.held.size() > 3 || self.random.below(3) != 0) {
        let_go(self);
    }
}

void make_frame(process& self)
{
    void* block = nullptr;
    if (egb_shared_alloc_wait(self.pool, &block, short_wait_ns) != EGB_OK) {
        return;
    }
    const uint64_t seed =
        uint64_t{self.random.below(1u << 30)} << 32 | static_cast<uint64_t>(getpid());
    write_frame(block, seed);
    if (egb_shared_publish(self.pool, block, &seed, nullptr) == EGB_OK) {
        self.shared->published++;
    }
    const egb_frame frame                           = egb_shared_handle(self.pool, block);
    self.shared->frames[self.random.below(handles)] = frame.generation << 8 | frame.index;
    keep_or_release(self, block, seed);
}

void read_frame(process& self)
{
    egb_published out;
    egb_status    status = EGB_BUSY;
    switch (self.random.below(3)) {
        case 0:
            status     = egb_shared_next(self.pool, self.after, short_wait_ns, &out);
            self.after = status == EGB_OK ? out.sequence : self.after;
            break;
        case 1: status = egb_shared_take(self.pool, 0, &out); break;
        default: status = egb_shared_latest(self.pool, &out);
    }
    if (status == EGB_OK) {
        check_frame(self, out.block, note_of(out));
        keep_or_release(self, out.block, note_of(out));
    }
}

// The frame of a handle is whole, whoever made it: its first word tells the seed.
void open_handle(process& self)
{
    void*          block = nullptr;
    const uint64_t value = self.shared->frames[self.random.below(handles)];
    egb_frame      frame = {self.number, static_cast<uint32_t>(value & 255), value >> 8};
    if (egb_shared_open(self.pool, frame, &block) != EGB_OK) {
        self.shared->stale++;
        return;
    }
    const uint64_t inverse = 0xF1DE83E19937733Du;  // inverts the factor in word_of(), modulo 2^64
    const uint64_t seed    = *static_cast<const uint64_t*>(block) * inverse;
    self.shared->opened++;
    check_frame(self, block, seed);
    keep_or_release(self, block, seed);
}

// ---- lives --------------------------------------------------------------------------------------

void live(process& self);

// The child holds the frames that its parent holds. It has no pool if all attachments are taken.
void fork_one(process& self)
{
    egb_shared_numbers numbers = {};
    (void)egb_shared_stats(self.pool, &numbers);
    if (self.depth == 2 || numbers.attachments > most_attachments) {
        return;
    }
    const pid_t child = fork();
    if (child == 0) {
        if (egb_shared_fd(self.pool) < 0) {
            _exit(0);
        }
        self.depth++;
        self.random = chance(static_cast<uint64_t>(getpid()) * 31);
        live(self);
    }
    self.shared->forks += child > 0 ? 1u : 0u;
}

// Becomes a new program that has no frame, and attaches by the name.
void exec_self(const process& self)
{
    self.shared->execs++;
    const std::string seed  = std::to_string(getpid());
    const std::string board = std::to_string(self.board_file);
    const std::string alive = std::to_string(self.alive_file);
    (void)execl(
        "/proc/self/exe",
        "shared_chaos",
        "--process",
        self.name,
        board.c_str(),
        alive.c_str(),
        seed.c_str(),
        nullptr
    );
}

void open_again(process& self)
{
    while (!self.held.empty()) {
        let_go(self);
    }
    egb_shared* other = nullptr;
    if (egb_shared_attach(&other, self.name, 0) == EGB_OK) {
        egb_shared_close(self.pool);
        self.pool = other;
    }
}

bool is_alone(const process& self)
{
    pollfd end = {self.alive_file, POLLIN, 0};
    return poll(&end, 1, 0) != 0;
}

void step(process& self)
{
    switch (self.random.below(200)) {
        case 0: fork_one(self); break;
        case 1: exec_self(self); break;
        case 2: open_again(self); break;
        case 3: (void)egb_shared_recover(self.pool); break;
        case 4: (void)egb_shared_gc(); break;
        case 6:
        case 7:
        case 8: (void)usleep(static_cast<useconds_t>(self.random.below(5000))); break;
        case 5:
            if (self.random.below(8) == 0) {
                _exit(0);  // with frames held
            }
            break;
        default:
            switch (self.random.below(4)) {
                case 0: make_frame(self); break;
                case 1: read_frame(self); break;
                case 2: open_handle(self); break;
                default: let_go(self);
            }
    }
}

// A child that ended in another way than by itself or by the survivor's hand was not well.
int reap(bool is_last)
{
    int ended  = 0;
    int status = 0;
    while (waitpid(-1, &status, is_last ? 0 : WNOHANG) > 0) {
        ended++;
        if (WIFEXITED(status) ? WEXITSTATUS(status) != 0 : WTERMSIG(status) != SIGKILL) {
            fail("a process ended with an error", static_cast<uint64_t>(status));
        }
    }
    return ended;
}

void live(process& self)
{
    for (int i = 0; i < most_steps && self.shared->is_over == 0 && !is_alone(self); i++) {
        step(self);
        (void)reap(false);
    }
    _exit(0);
}

uint32_t number_of_pool(egb_shared* pool)
{
    void* const    block  = egb_shared_alloc(pool);
    const uint32_t number = egb_shared_handle(pool, block).pool;
    egb_shared_release(pool, block);
    return number;  // 0: no block was free, and no handle opens
}

board* map_board(int file)
{
    void* const start = mmap(nullptr, sizeof(board), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    return start == MAP_FAILED ? nullptr : static_cast<board*>(start);
}

// The program that exec_self() and the survivor start: NAME BOARD ALIVE SEED.
int live_as_program(char** words)
{
    const int    board_file = atoi(words[1]);
    board* const shared     = map_board(board_file);
    egb_shared*  pool       = nullptr;
    if (shared == nullptr) {
        fail("no board");
    }
    // No more than the limit may be there, and the survivor's pool is never removed.
    const egb_status status = egb_shared_attach(&pool, words[0], 0);
    if (status != EGB_OK && status != EGB_LIMIT && shared->is_over == 0) {
        fail("not attached", static_cast<uint64_t>(status));
    }
    if (status == EGB_OK) {
        process self{
            pool,
            shared,
            board_file,
            atoi(words[2]),
            -1,
            number_of_pool(pool),
            words[0],
            chance(strtoull(words[3], nullptr, 10))
        };
        live(self);
    }
    return 0;
}

// ---- the survivor -------------------------------------------------------------------------------

struct counts {
    uint64_t started = 0, killed = 0, stopped = 0, continued = 0, ended = 0;
};

// The group of all processes but the survivor, so that it kills only its own.
pid_t make_group(egb_shared* pool)
{
    const pid_t keeper = fork();
    if (keeper == 0) {
        egb_shared_close(pool);  // else it would be one that the survivor kills
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;) {
            pause();
        }
    }
    (void)setpgid(keeper, keeper);
    return keeper;
}

void start_one(process& self, pid_t group)
{
    const pid_t child = fork();
    if (child == 0) {
        (void)setpgid(0, group);
        close(self.alive_end);
        self.random = chance(static_cast<uint64_t>(getpid()));
        if (self.random.below(2) == 0) {
            exec_self(self);
        }
        live(self);
    }
    (void)setpgid(child, group);
}

struct living {
    pid_t              group;
    std::vector<pid_t> found{};
};

void note_living(const egb_shared_attachment* one, void* user)
{
    auto* const all = static_cast<living*>(user);
    const auto  pid = static_cast<pid_t>(one->pid);
    if (one->is_alive && !one->is_this && pid > 1 && getpgid(pid) == all->group) {
        all->found.push_back(pid);
    }
}

void disturb(process& self, pid_t group, counts& all)
{
    living others{group};
    egb_shared_each(self.pool, note_living, &others);
    const size_t what = self.random.below(10);
    if (others.found.size() < least_processes ||
        (what < 4 && others.found.size() < most_processes)) {
        start_one(self, group);
        all.started++;
        return;
    }
    const pid_t victim = others.found[self.random.below(others.found.size())];
    if (what < 8) {
        all.killed += kill(victim, SIGKILL) == 0 ? 1u : 0u;
    } else if (what == 8) {
        all.stopped += kill(victim, SIGSTOP) == 0 ? 1u : 0u;
    } else {
        all.continued += kill(victim, SIGCONT) == 0 ? 1u : 0u;
    }
}

// When all others are dead.
void expect_nothing_lost(process& self)
{
    egb_shared_numbers numbers;
    while (!self.held.empty()) {
        let_go(self);
    }
    (void)egb_shared_recover(self.pool);
    if (egb_shared_stats(self.pool, &numbers) != EGB_OK || numbers.attachments != 1 ||
        numbers.in_use != numbers.only_feed || numbers.only_feed > kept) {
        fail("blocks or attachments are left over", numbers.in_use);
    }
    void* all[blocks + 1];
    for (size_t i = 0; i < blocks; i++) {
        all[i] = egb_shared_alloc(self.pool);  // those of the feed, too
        if (all[i] == nullptr) {
            fail("a block was lost", i);
        }
    }
    if (egb_shared_alloc(self.pool) != nullptr) {
        fail("a block too many");
    }
    if (egb_shared_publish(self.pool, all[0], nullptr, nullptr) != EGB_OK) {
        fail("the dead keep the publisher's place");
    }
}

void print(const process& self, const counts& all)
{
    egb_shared_numbers numbers = {};
    const auto         number  = [](uint64_t value) {
        return static_cast<unsigned long long>(value);
    };
    (void)egb_shared_stats(self.pool, &numbers);
    (void)printf(
        "chaos: %llu started, %llu forks, %llu execs, %llu killed, %llu stopped, %llu continued, "
        "%llu ended; %llu dead recovered; %llu frames published, %llu dropped, %llu checked, %llu "
        "handles opened, %llu stale; none torn, none lost\n",
        number(all.started),
        number(self.shared->forks),
        number(self.shared->execs),
        number(all.killed),
        number(all.stopped),
        number(all.continued),
        number(all.ended),
        number(numbers.recovered),
        number(self.shared->published),
        number(numbers.dropped),
        number(self.shared->checked),
        number(self.shared->opened),
        number(self.shared->stale)
    );
    (void)fflush(stdout);
}

struct plan {
    uint64_t events  = CHAOS_EVENTS;
    uint64_t seconds = 0;
    uint64_t seed    = 1;
};

bool goes_on(const plan& wanted, uint64_t event, time_t begin)
{
    return wanted.seconds != 0 ? static_cast<uint64_t>(time(nullptr) - begin) < wanted.seconds
                               : event < wanted.events;
}

int survive(process& self, const plan& wanted)
{
    counts       all;
    const pid_t  group = make_group(self.pool);
    const time_t begin = time(nullptr);
    for (uint64_t event = 1; goes_on(wanted, event, begin); event++) {
        disturb(self, group, all);
        for (size_t steps = self.random.below(3); steps > 0; steps--) {
            self.random.below(3) == 0 ? read_frame(self) : open_handle(self);
            let_go(self);
        }
        all.ended += static_cast<uint64_t>(reap(false));
        if (event % 100000 == 0) {
            print(self, all);
        }
        (void)usleep(static_cast<useconds_t>(self.random.below(2000)));
    }
    self.shared->is_over = 1;
    (void)kill(-group, SIGKILL);
    all.ended += static_cast<uint64_t>(reap(true));
    expect_nothing_lost(self);
    print(self, all);
    const std::string path = std::string("/dev/shm/eggbox-") + self.name;
    egb_shared_close(self.pool);
    if (access(path.c_str(), F_OK) == 0) {
        fail("the name is left over");
    }
    return all.killed != 0 && self.shared->checked != 0 && self.shared->published != 0 ? 0 : 1;
}

egb_shared* make_pool(const char* name)
{
    egb_shared*        pool    = nullptr;
    egb_shared_options options = {};
    options.name               = name;
    options.block_bytes        = words_of_frame * sizeof(uint64_t);
    options.count              = blocks;
    options.feed_count         = kept;
    options.note_bytes         = sizeof(uint64_t);
    options.on_full            = EGB_SHARED_DROP_OLDEST;
    if (egb_shared_create(&pool, &options) != EGB_OK) {
        fail("no pool");
    }
    return pool;
}

void read_number(uint64_t& place, const char* text)
{
    place = text == nullptr ? place : strtoull(text, nullptr, 10);
}

}  // namespace

int main(int count, char** words)
{
    if (count == 6 && strcmp(words[1], "--process") == 0) {
        return live_as_program(words + 2);
    }
    plan wanted;
    read_number(wanted.seed, getenv("EGGBOX_SEED"));
    read_number(wanted.events, getenv("EGGBOX_CHAOS_EVENTS"));
    for (int i = 1; i + 1 < count; i += 2) {
        uint64_t& place = strcmp(words[i], "--events") == 0    ? wanted.events
                          : strcmp(words[i], "--seconds") == 0 ? wanted.seconds
                                                               : wanted.seed;
        read_number(place, words[i + 1]);
    }
    int               pipes[2];
    const std::string name       = "test-chaos-" + std::to_string(getpid());
    const int         board_file = memfd_create("chaos", 0);
    if (board_file < 0 || ftruncate(board_file, sizeof(board)) != 0 || pipe(pipes) != 0) {
        fail("no board");
    }
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
    egb_shared* const pool = make_pool(name.c_str());
    process           self{
        pool,
        map_board(board_file),
        board_file,
        pipes[0],
        pipes[1],
        number_of_pool(pool),
        name.c_str(),
        chance(wanted.seed)
    };
    return survive(self, wanted);
}
