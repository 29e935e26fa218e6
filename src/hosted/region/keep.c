// SPDX-License-Identifier: MIT
// The limit on unused memory of the heap: see keep.h. Lost updates are harmless: only the limit
// shifts.
#include "keep.h"

#include "../../core/util.h"
#include "../../os/os.h"
#include "eggbox/atomic_hot.h"

#define MIB ((size_t)1 << 20)

static const size_t LIMIT_LEAST            = 8 * MIB;
static const size_t LIMIT_LEAST_OF_THREADS = 64 * MIB;  // somebody looks at the clock
static const size_t LIMIT_MOST             = (sizeof(void*) < 8 ? 64 : 1024) * MIB;

// The share of the memory that the process may have, but a few chunks in any case.
enum { PARTS_OF_MEMORY = 16 };
static const size_t SHARE_LEAST = MIB / 4;

// A process that got less from the system neither reads the limits nor learns.
static const size_t GOT_LEAST = 4 * MIB;
enum { MILLISECONDS_PER_READ = 1000 };

// Memory that is needed again so soon should have stayed; after so many epochs without such a need
// the limit falls.
enum { SOON_MILLISECONDS = 1000, FALL_EPOCHS = 16 };

// A caller of egb_heap_purge() counts as gone so many epochs after its last call: 40 s. The thread
// of the malloc library calls it each 16 s at least.
enum { PURGER_EPOCHS = 160 };

EGB_AMONG_DATA_ static uint32_t purger_epochs;  // until then; atomic, as all that follow

// A limit, and the memory that went: it teaches the limit.
typedef struct lesson {
    size_t   limit;         // 0: the least
    size_t   gone_lately;   // bytes that went and may be needed again
    size_t   longest;       // bytes of the longest piece in it
    uint32_t gone_at;       // milliseconds: when the last of them went
    uint32_t epochs_alike;  // in which nothing was needed again
} lesson;

EGB_AMONG_DATA_ static lesson   at_any_time, after_crowds;  // fields atomic
static size_t                   share = SIZE_MAX;
EGB_AMONG_DATA_ static size_t   got;      // bytes, until they are GOT_LEAST
EGB_AMONG_DATA_ static uint32_t read_at;  // milliseconds
EGB_AMONG_DATA_ static bool     is_read_no_more;
EGB_AMONG_DATA_ static uint32_t is_reading;

size_t egb_keep_share_(void)
{
    return EGB_LOAD_(share);
}

size_t egb_keep_bytes_(void)
{
    const size_t least = EGB_LOAD_(purger_epochs) != 0 ? LIMIT_LEAST_OF_THREADS : LIMIT_LEAST;
    return egb_smaller_(egb_larger_(EGB_LOAD_(at_any_time.limit), least), egb_keep_share_());
}

size_t egb_keep_after_crowd_(void)
{
    const size_t most = egb_larger_(EGB_LOAD_(after_crowds.limit), LIMIT_LEAST);
    return egb_smaller_(most, egb_keep_share_());
}

// ---- the limits of the process ------------------------------------------------------------------

// One thread at a time asks for limits, and none once that must not be done any more.
static bool begin_reading(void)
{
    return __atomic_exchange_n(&is_reading, 1, __ATOMIC_ACQUIRE) == 0;
}

static void end_reading(void)
{
    __atomic_store_n(&is_reading, 0, __ATOMIC_RELEASE);
}

static void read_limits(void)
{
    const size_t most = egb_smaller_(egb_os_process_limit_(), egb_os_group_limit_());
    const size_t part = egb_larger_(most / PARTS_OF_MEMORY, SHARE_LEAST);
    EGB_STORE_(share, most == SIZE_MAX ? SIZE_MAX : part);
}

static bool is_time_to_read(uint32_t now)
{
    uint32_t last = EGB_LOAD_(read_at);
    return egb_milliseconds_since_(last, now) >= MILLISECONDS_PER_READ &&
           __atomic_compare_exchange_n(
               &read_at, &last, now, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED
           );
}

size_t egb_keep_refusal_bytes_(void)
{
    size_t bytes = SIZE_MAX;
    if (begin_reading()) {
        bytes = EGB_LOAD_(is_read_no_more) ? SIZE_MAX : egb_os_process_limit_();
        end_reading();
    }
    return bytes;
}

// The thread that reads may be the one that a signal handler, which is here, has interrupted: the
// wait for it has an end.
void egb_keep_read_no_more_(void)
{
    enum { WAITS_MAX = 100, WAIT_MILLISECONDS = 10 };
    bool is_ours = begin_reading();
    for (int i = 0; i < WAITS_MAX && !is_ours; i++) {
        egb_os_wait_(&is_reading, 1, WAIT_MILLISECONDS);
        is_ours = begin_reading();
    }
    if (!__atomic_exchange_n(&is_read_no_more, true, __ATOMIC_RELAXED) && is_ours) {
        read_limits();
    }
    if (is_ours) {
        end_reading();
    }
}

bool egb_keep_expects_sandbox_(void)
{
    return EGB_LOAD_(is_read_no_more);
}

// ---- memory that comes and goes -----------------------------------------------------------------

static size_t gone_soon_before(const lesson* one, uint32_t now)
{
    const uint32_t since = egb_milliseconds_since_(EGB_LOAD_(one->gone_at), now);
    return since < SOON_MILLISECONDS ? EGB_LOAD_(one->gone_lately) : 0;
}

static void note_given(lesson* one, size_t bytes, size_t piece)
{
    if (bytes == 0) {
        return;
    }
    const uint32_t now     = (uint32_t)egb_os_milliseconds_();
    const size_t   before  = gone_soon_before(one, now);
    const size_t   longest = before == 0 ? 0 : EGB_LOAD_(one->longest);
    EGB_STORE_(one->longest, egb_larger_(longest, piece));
    EGB_STORE_(one->gone_lately, egb_smaller_(before + bytes, LIMIT_MOST));
    EGB_STORE_(one->gone_at, now);
}

void egb_keep_note_given_(size_t bytes, size_t piece)
{
    note_given(&at_any_time, bytes, piece);
}

void egb_keep_note_given_after_crowd_(size_t bytes)
{
    note_given(&after_crowds, bytes, SIZE_MAX);
}

// All memory that is needed again should have stayed. It counts twice, because wholly free chunks
// may have only half of the limit. `limit`: as it is now.
static void learn(lesson* one, size_t bytes, size_t limit, uint32_t now)
{
    const size_t gone  = bytes <= EGB_LOAD_(one->longest) ? gone_soon_before(one, now) : 0;
    const size_t again = egb_smaller_(bytes, gone);
    if (again != 0) {
        EGB_STORE_(one->gone_lately, gone - again);
        EGB_STORE_(one->epochs_alike, 0);
        EGB_STORE_(one->limit, egb_smaller_(limit + 2 * again, LIMIT_MOST));
    }
}

// A program may compute for long between two phases: a look at the clock halves the limit once.
static void end_epochs(lesson* one, uint32_t count)
{
    const uint32_t alike =
        EGB_LOAD_(one->epochs_alike) + (uint32_t)egb_smaller_(count, FALL_EPOCHS);
    EGB_STORE_(one->epochs_alike, alike % FALL_EPOCHS);
    if (alike >= FALL_EPOCHS) {
        EGB_STORE_(one->limit, EGB_LOAD_(one->limit) / 2);
    }
}

static void forget(lesson* one)
{
    EGB_STORE_(one->limit, 0);
    EGB_STORE_(one->gone_lately, 0);
}

void egb_keep_note_got_(size_t bytes)
{
    const size_t sum = egb_smaller_(EGB_LOAD_(got) + egb_smaller_(bytes, GOT_LEAST), GOT_LEAST);
    EGB_STORE_(got, sum);
    if (sum < GOT_LEAST) {
        return;
    }
    const uint32_t now = (uint32_t)egb_os_milliseconds_();
    if (is_time_to_read(now) && begin_reading()) {
        if (!EGB_LOAD_(is_read_no_more)) {
            read_limits();
        }
        end_reading();
    }
    learn(&at_any_time, bytes, egb_keep_bytes_(), now);
    learn(&after_crowds, bytes, egb_keep_after_crowd_(), now);
}

bool egb_keep_expects_more_(void)
{
    return EGB_LOAD_(got) == GOT_LEAST;
}

void egb_keep_end_epochs_(uint32_t count)
{
    const uint32_t left = EGB_LOAD_(purger_epochs);
    EGB_STORE_(purger_epochs, left - (uint32_t)egb_smaller_(left, count));
    end_epochs(&at_any_time, count);
    end_epochs(&after_crowds, count);
}

void egb_keep_note_purger_(bool is_there)
{
    EGB_STORE_(purger_epochs, is_there ? PURGER_EPOCHS : 0);
    if (!is_there) {  // nobody looks at the clock for more
        forget(&at_any_time);
        forget(&after_crowds);
    }
}

void egb_keep_is_forked_(void)
{
    egb_keep_note_purger_(false);
    EGB_STORE_(is_reading, 0);
}
