// SPDX-License-Identifier: MIT
// Stacks are in a tree of calls. A thread goes on from the stack that it had before: most calls
// around a site are the same again, and so are their nodes.
#include "stacks.h"

#include "../../core/util.h"
#include "../../os/os.h"
#include "../settings/settings.h"
#include "call_tree.h"

enum {
    LAST_STACKS     = sizeof(void*) < 8 ? 64 : 256,
    LAST_STACKS_MIN = 16,
    TOLD_AT_PLACE   = 4,
    // For 80,000 arrays of 20 calls.
    TOLD_WORDS = sizeof(void*) < 8 ? 1 << 20 : 1 << 21,
    HALVES_MAX = 6
};

// An answer of the tree: the node of a call in another one.
typedef struct told_node {
    const void* address;
    uint32_t    parent;
    uint32_t    node;  // 0: nothing yet
} told_node;

// A stack, the nodes of its outermost calls, and the tree's answers for the calls that this stack
// and earlier ones had at each place: code that returns and calls again often makes the same calls.
// The answers for a place are one line of the cache.
typedef struct last_stack {
    uint32_t     is_in_use;  // atomic: by a thread
    uint32_t     known;      // calls that have nodes: the outermost
    uint32_t     nodes[EGB_OS_CALLS_MAX];
    egb_os_calls calls;
    EGB_ALIGNAS_(64) told_node told[EGB_OS_CALLS_MAX][TOLD_AT_PLACE];
} last_stack;

// In one range of addresses, which the system fills with memory as it is used. A process that may
// have only so many addresses or so much data has a part of it: the system counts all of it.
typedef struct stack_memory {
    uint32_t       lasts;
    uint32_t       nodes;
    size_t         told_words;
    size_t         told_used;  // atomic
    last_stack*    last;       // the first of the range
    egb_call_tree* tree;
    const void**   told;     // arrays that somebody asked for; [0] is in none
    uint32_t*      told_at;  // atomic: of a node, the place of its array; 0: none
} stack_memory;

static stack_memory* stacks;            // atomic; NULL: there are no stacks
static bool          are_wanted;        // atomic
static bool          no_stacks_at_all;  // atomic: there was no memory for them
static uint64_t      stacks_unknown;    // atomic: requests without a stack

// Which last stack this thread looks at first, counted from 1; 0: none yet.
#if defined(_WIN32)
static _Thread_local uint32_t own_last;
#else
static __thread uint32_t own_last __attribute__((tls_model("initial-exec")));
#endif

// ---- the last stack of a thread -----------------------------------------------------------------

// Any of them gives a right stack, and the thread's own the fastest. A thread that a signal
// interrupts may have one in use, and so may threads that the child of a fork does not have: the
// next one serves. NULL: all are in use.
static last_stack* take_last(stack_memory* all)
{
    static uint32_t threads;  // atomic
    if (own_last == 0) {
        own_last = __atomic_fetch_add(&threads, 1, __ATOMIC_RELAXED) % all->lasts + 1;
    }
    for (uint32_t i = 0; i < all->lasts; i++) {
        last_stack* const last   = &all->last[(own_last - 1 + i) % all->lasts];
        uint32_t          unused = 0;
        if (__atomic_load_n(&last->is_in_use, __ATOMIC_RELAXED) == 0 &&
            __atomic_compare_exchange_n(
                &last->is_in_use, &unused, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED
            )) {
            return last;
        }
    }
    return NULL;
}

static void give_last(last_stack* last)
{
    __atomic_store_n(&last->is_in_use, 0, __ATOMIC_RELEASE);
}

// The place of `site` among the calls, the innermost if there are several; `count`: none.
static size_t place_of_site(const egb_os_calls* all, const void* site)
{
    size_t at = all->count;
    while (at > 0 && all->calls[at - 1].address != site) {
        at--;
    }
    return at == 0 ? all->count : at - 1;
}

// 0: there is no room.
static uint32_t node_of_call(
    egb_call_tree* tree, told_node at_place[TOLD_AT_PLACE], uint32_t parent, const void* address
)
{
    const uint64_t   mixed = egb_mix_((uintptr_t)address);  // the upper bits are the mixed ones
    told_node* const told  = &at_place[(mixed >> 62) % TOLD_AT_PLACE];
    if (told->node == 0 || told->parent != parent || told->address != address) {
        *told = (told_node){address, parent, egb_call_tree_find_(tree, parent, address)};
    }
    return told->node;
}

// The node of the call at `place`, with all around it. 0: there is no room.
static uint32_t node_at_place(egb_call_tree* tree, last_stack* last, size_t place)
{
    const egb_os_calls* const all = &last->calls;
    const size_t              cut = egb_larger_(place + 1, EGB_STACK_CALLS_CUT);
    size_t   from = all->is_cut ? cut - EGB_STACK_CALLS_CUT : egb_smaller_(last->known, place + 1);
    uint32_t node = all->is_cut || from == 0 ? 0 : last->nodes[from - 1];
    for (; from <= place; from++) {
        node = node_of_call(tree, last->told[from], node, all->calls[from].address);
        if (node == 0) {
            return 0;
        }
        last->nodes[from] = node;
        last->known       = all->is_cut ? 0 : (uint32_t)from + 1;
    }
    return node;
}

// 0: not known. When there is no room for new stacks, the unwinder need not work for one.
static uint32_t
node_of_site(egb_call_tree* tree, last_stack* last, const egb_os_call* first, const void* site)
{
    if (!egb_os_calls_(first, site, &last->calls, egb_call_tree_is_full_(tree))) {
        return 0;
    }
    // The nodes of other calls are forgotten, also if the site is none of the new ones.
    last->known        = (uint32_t)egb_smaller_(last->known, last->calls.same);
    const size_t place = place_of_site(&last->calls, site);
    return place == last->calls.count ? 0 : node_at_place(tree, last, place);
}

__attribute__((noinline)) const void* egb_stack_here_(const void* site)
{
    const egb_os_call   first = EGB_OS_CALL_HERE_();
    stack_memory* const all   = __atomic_load_n(&stacks, __ATOMIC_ACQUIRE);
    if (site == NULL || (all == NULL && !__atomic_load_n(&no_stacks_at_all, __ATOMIC_RELAXED))) {
        return site;
    }
    last_stack* const last = all == NULL ? NULL : take_last(all);
    uint32_t          node = 0;
    if (last != NULL) {
        node = node_of_site(all->tree, last, &first, site);
        give_last(last);
    }
    if (node == 0) {
        (void)__atomic_fetch_add(&stacks_unknown, 1, __ATOMIC_RELAXED);
        return site;
    }
    return egb_call_tree_mark_(all->tree, node);
}

uint64_t egb_stacks_unknown_(void)
{
    return __atomic_load_n(&stacks_unknown, __ATOMIC_RELAXED);
}

void egb_stacks_restart_(void)
{
    __atomic_store_n(&stacks_unknown, 0, __ATOMIC_RELAXED);
}

// ---- the memory ---------------------------------------------------------------------------------

static size_t bytes_of_parts(const stack_memory* all)
{
    const size_t bytes = all->lasts * sizeof(last_stack) + egb_call_tree_bytes_(all->nodes) +
                         all->told_words * sizeof(void*) + all->nodes * sizeof(uint32_t);
    const size_t page = egb_os_page_bytes_();
    return page == 0 ? 0 : egb_round_up_(bytes, page);
}

// All is halved until it takes a 16th of what the process may have.
static void choose_stack_sizes(stack_memory* all)
{
    enum { SHARE = 16 };
    const size_t most = egb_os_process_limit_() / SHARE;
    for (unsigned halves = 0; halves <= HALVES_MAX; halves++) {
        all->lasts      = (uint32_t)egb_larger_(LAST_STACKS >> halves, LAST_STACKS_MIN);
        all->nodes      = EGB_CALL_NODES >> halves;
        all->told_words = TOLD_WORDS >> halves;
        if (bytes_of_parts(all) <= most) {
            break;
        }
    }
}

static void place_stack_parts(stack_memory* all, unsigned char* start)
{
    all->last = (last_stack*)(void*)start;
    start += all->lasts * sizeof(last_stack);
    all->tree = (egb_call_tree*)(void*)start;
    start += egb_call_tree_bytes_(all->nodes);
    all->told = (const void**)(void*)start;
    start += all->told_words * sizeof(void*);
    all->told_at = (uint32_t*)(void*)start;
}

uintptr_t egb_stacks_end_(uintptr_t address)
{
    const stack_memory* const all = __atomic_load_n(&stacks, __ATOMIC_ACQUIRE);
    if (all == NULL) {
        return 0;
    }
    const uintptr_t start = (uintptr_t)all->last;
    return address - start < bytes_of_parts(all) ? start + bytes_of_parts(all) : 0;
}

static void begin_stacks(void)
{
    static stack_memory only;
    static bool         has_begun;  // atomic
    if (!egb_os_prepare_calls_() || __atomic_exchange_n(&has_begun, true, __ATOMIC_RELAXED)) {
        return;
    }
    choose_stack_sizes(&only);
    const size_t bytes = bytes_of_parts(&only);
    void* const  fresh = bytes == 0 ? NULL : egb_os_reserve_(bytes, egb_os_page_bytes_());
    if (fresh != NULL && egb_os_commit_(fresh, bytes, 0, NULL) == EGB_OK) {
        place_stack_parts(&only, fresh);
        egb_call_trees_cut_(only.nodes);
        __atomic_store_n(&stacks, &only, __ATOMIC_RELEASE);
    } else {
        __atomic_store_n(&no_stacks_at_all, true, __ATOMIC_RELAXED);
    }
}

void egb_stacks_begin_(void)
{
    __atomic_store_n(&are_wanted, true, __ATOMIC_RELAXED);
    begin_stacks();
}

void egb_stacks_begin_late_(void)
{
    if (__atomic_load_n(&are_wanted, __ATOMIC_RELAXED)) {
        begin_stacks();
    }
}

__attribute__((constructor)) static void begin_early(void)
{
    egb_os_prepare_();  // before it no variable is known
    if (egb_level_is_wanted_(EGB_LEVEL_TRACK) || egb_level_is_wanted_(EGB_LEVEL_SAMPLE)) {
        egb_stacks_begin_();
    }
}

// ---- what a site is -----------------------------------------------------------------------------

bool egb_site_is_stack_(const void* site)
{
    stack_memory* const all = __atomic_load_n(&stacks, __ATOMIC_ACQUIRE);
    return all != NULL && egb_call_tree_has_(all->tree, site);
}

const void* egb_site_address_(const void* site)
{
    return egb_site_is_stack_(site) ? ((const egb_call_node*)site)->address : site;
}

// Room for an array of `count` calls. 0: there is none.
static size_t add_told(stack_memory* all, size_t count)
{
    const size_t words = count + 1;
    const size_t begin = __atomic_load_n(&all->told_used, __ATOMIC_RELAXED);
    if (begin + words >= all->told_words) {
        return 0;
    }
    const size_t at = __atomic_fetch_add(&all->told_used, words, __ATOMIC_RELAXED) + 1;
    return at + words <= all->told_words ? at : 0;
}

// The array of another thread, if it has one meanwhile.
// NOLINTNEXTLINE(readability-non-const-parameter): `at` is written to, atomically
static uint32_t tell_stack(stack_memory* all, const void* site, uint32_t* at)
{
    const size_t   count = egb_call_tree_read_(all->tree, site, NULL, EGB_STACK_CALLS_MAX);
    const uint32_t fresh = (uint32_t)add_told(all, count);
    uint32_t       found = 0;
    if (fresh == 0) {
        return 0;
    }
    (void)egb_call_tree_read_(all->tree, site, &all->told[fresh], count);
    return __atomic_compare_exchange_n(at, &found, fresh, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)
               ? fresh
               : found;
}

const void* const* egb_site_stack_(const void* site)
{
    stack_memory* const all = __atomic_load_n(&stacks, __ATOMIC_ACQUIRE);
    if (all == NULL || !egb_call_tree_has_(all->tree, site)) {
        return NULL;
    }
    uint32_t* const at    = &all->told_at[(const egb_call_node*)site - all->tree->nodes];
    const uint32_t  known = __atomic_load_n(at, __ATOMIC_ACQUIRE);
    const uint32_t  place = known != 0 ? known : tell_stack(all, site, at);
    return place == 0 || place >= all->told_words ? NULL : &all->told[place];
}
