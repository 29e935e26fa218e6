// SPDX-License-Identifier: MIT
// Programs with a leak each, for reach.py: the word selects one. Its name and "lost: N" or
// "indirect: N" stand on the line that allocates N bytes which the program has lost at its end, and
// "reachable: N" on a line whose blocks it still has.
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

namespace
{

struct node {
    node* next;
    long  numbers[3];
};

void*              kept;
void*              other;
thread_local void* of_thread;

// Whether the library knows that main() has returned: it reads the stack by rules.
#if defined(__x86_64__) && __GLIBC_PREREQ(2, 35)
constexpr bool knows_return = true;
#else
constexpr bool knows_return = false;
#endif

#define NEVER_INLINED __attribute__((noinline))

// The complement of a word, so that the word itself is only where it is left.
NEVER_INLINED void leave_on_stack(uintptr_t complement)
{
    volatile uintptr_t room[2048];
    for (volatile uintptr_t& word : room) {
        word = ~complement;
    }
}

// Words that were left on the stack are no pointers of the program any more.
NEVER_INLINED void clear_stack()
{
    volatile char room[16384];
    memset(const_cast<char*>(room), 0, sizeof room);
}

NEVER_INLINED void forget()
{
    void* volatile block = malloc(30);  // forget: lost: 30
    block                = nullptr;
}

NEVER_INLINED void keep()
{
    kept = malloc(41);  // keep: reachable: 41
}

NEVER_INLINED void overwrite()
{
    kept = malloc(52);  // overwrite: lost: 52
    kept = malloc(53);  // overwrite: reachable: 53
}

NEVER_INLINED void list()
{
    node* volatile first = nullptr;
    for (int i = 0; i < 4; i++) {
        void* const block = calloc(1, sizeof(node));  // list: lost: 32, list: indirect: 96
        node* const one   = static_cast<node*>(block);
        one->next         = first;
        first             = one;
    }
    first = nullptr;
}

// Each leads to the other, so no leak is the one behind the other.
NEVER_INLINED void circle()
{
    node* volatile one = static_cast<node*>(calloc(2, sizeof(node)));  // circle: indirect: 64
    one->next          = static_cast<node*>(calloc(3, sizeof(node)));  // circle: indirect: 96
    one->next->next    = one;
    one                = nullptr;
}

NEVER_INLINED void itself()
{
    node* volatile one = static_cast<node*>(calloc(1, 40));  // itself: lost: 40
    one->next          = one;
    one                = nullptr;
}

NEVER_INLINED void inside()
{
    kept  = static_cast<char*>(malloc(100)) + 99;   // inside: reachable: 100
    other = static_cast<char*>(malloc(101)) + 101;  // inside: lost: 101
}

NEVER_INLINED void large()
{
    void** volatile block = static_cast<void**>(calloc(3, 1048576));  // large: lost: 3145728
    block[393215]         = malloc(77);                               // large: indirect: 77
    block                 = nullptr;
}

void* leak_in_thread(void* nothing)
{
    void* volatile block = malloc(61);  // thread: lost: 61
    of_thread            = malloc(62);  // thread: lost: 62
    block                = nullptr;
    clear_stack();
    return nothing;
}

NEVER_INLINED void thread()
{
    pthread_t one;
    pthread_create(&one, nullptr, leak_in_thread, nullptr);
    pthread_join(one, nullptr);
}

int has_begun[2];

void* wait_in_thread(void* nothing)
{
    char begun           = 0;
    void* volatile block = malloc(71);  // waiting: reachable: 71
    of_thread            = malloc(72);  // waiting: reachable: 72
    (void)!write(has_begun[1], &begun, 1);
    for (;;) {
        pause();
    }
    free(block);
    return nothing;
}

void wait_for_thread(const pthread_attr_t* how, void* (*run)(void*))
{
    char      begun;
    pthread_t one;
    (void)!pipe(has_begun);
    pthread_create(&one, how, run, nullptr);
    (void)!read(has_begun[0], &begun, 1);
}

NEVER_INLINED void waiting()
{
    wait_for_thread(nullptr, wait_in_thread);
}

struct named {
    char* name;

    explicit named(const char* text) : name(new char[strlen(text) + 1])  // object: indirect: 9
    {
        strcpy(name, text);
    }
    ~named()
    {
        delete[] name;
    }
};

NEVER_INLINED void object()
{
    named* volatile one = new named("a circle");  // object: lost: 8
    one                 = nullptr;
    of_thread           = new named("a circle");  // object: reachable: 17
}

// No pointer is a pointer as it stands there.
NEVER_INLINED void hidden()
{
    kept = reinterpret_cast<void*>(~reinterpret_cast<uintptr_t>(malloc(88)));  // hidden: lost: 88
}

// Memory that the program got by itself, MEMORY_BYTES of it.
enum { MEMORY_BYTES = 262144 };

char* memory_of(int access)
{
    constexpr int kind   = MAP_PRIVATE | MAP_ANONYMOUS;
    void* const   memory = mmap(nullptr, MEMORY_BYTES, access, kind, -1, 0);
    return static_cast<char*>(memory);
}

NEVER_INLINED void mapped()
{
    void** const memory = reinterpret_cast<void**>(memory_of(PROT_READ | PROT_WRITE));
    memory[1000]        = malloc(99);  // mapped: reachable: 99
}

// Memory that the program closed to its own writes was private and writable no more.
NEVER_INLINED void read_only()
{
    char* const memory                     = memory_of(PROT_READ | PROT_WRITE);
    reinterpret_cast<void**>(memory)[1000] = malloc(122);  // read_only: reachable: 122
    (void)!mprotect(memory, MEMORY_BYTES, PROT_READ);
}

NEVER_INLINED void shared()
{
    constexpr int kind   = MAP_SHARED | MAP_ANONYMOUS;
    void* const   memory = mmap(nullptr, MEMORY_BYTES, PROT_READ | PROT_WRITE, kind, -1, 0);
    static_cast<void**>(memory)[1000] = malloc(133);  // shared: reachable: 133
}

// The memory file of the caller, of 1 GiB: hardly a page of it is there, and none must be made.
NEVER_INLINED void sparse()
{
    constexpr size_t bytes  = size_t{1} << 30;
    const int        file   = atoi(getenv("MEMORY_FILE"));
    void* const      memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    static_cast<void**>(memory)[bytes / 64] = malloc(155);  // sparse: reachable: 155
}

// The upper half of a reservation.
char* opened_memory()
{
    char* const half = memory_of(PROT_NONE) + MEMORY_BYTES / 2;
    (void)!mprotect(half, MEMORY_BYTES / 2, PROT_READ | PROT_WRITE);
    return half;
}

NEVER_INLINED void reserved()
{
    void** const memory = reinterpret_cast<void**>(opened_memory());
    memory[1000]        = malloc(111);  // reserved: reachable: 111
}

void* wait_with_nothing(void* nothing)
{
    char begun = 0;
    (void)!write(has_begun[1], &begun, 1);
    for (;;) {
        pause();
    }
    return nothing;
}

// The program's table and the stack of its thread are one mapping, behind an inaccessible page.
NEVER_INLINED void slab()
{
    pthread_attr_t how;
    char* const    memory               = opened_memory();
    reinterpret_cast<void**>(memory)[9] = malloc(122);  // slab: reachable: 122
    pthread_attr_init(&how);
    pthread_attr_setstack(&how, memory + MEMORY_BYTES / 4, MEMORY_BYTES / 4);
    wait_for_thread(&how, wait_with_nothing);
}

ucontext_t of_coroutine;
ucontext_t of_its_thread;

void wait_in_coroutine()
{
    wait_with_nothing(nullptr);
}

// The thread has its stack pointer in memory of the program, and returns to its own stack later.
void* start_coroutine(void* nothing)
{
    void* volatile block = malloc(133);  // coroutine: reachable: 133
    getcontext(&of_coroutine);
    of_coroutine.uc_stack.ss_sp   = opened_memory();
    of_coroutine.uc_stack.ss_size = MEMORY_BYTES / 2;
    makecontext(&of_coroutine, wait_in_coroutine, 0);
    swapcontext(&of_its_thread, &of_coroutine);
    free(block);
    return nothing;
}

NEVER_INLINED void coroutine()
{
    wait_for_thread(nullptr, start_coroutine);
}

// A sandbox that refuses one of the calls which look through the memory: nothing is known then.
NEVER_INLINED void blind()
{
#if defined(__NR__llseek)
    constexpr unsigned seek = __NR__llseek;
#else
    constexpr unsigned seek = __NR_lseek;
#endif
    static sock_filter refused[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, seek, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const sock_fprog filter = {sizeof refused / sizeof *refused, refused};
    kept                    = malloc(144);
    syscall(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    syscall(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
}

// The frames of the report have words in them that were left there.
NEVER_INLINED void below()
{
    leave_on_stack(~reinterpret_cast<uintptr_t>(malloc(155)));  // below: lost: 155
    _exit(0);
}

void end_now(int number)
{
    (void)number;
    _exit(0);
}

// The handler of a signal has a stack of its own, at higher addresses than that of the thread.
void* get_signal(void* aside)
{
    stack_t          where = {};
    struct sigaction how   = {};
    void* volatile block   = malloc(188);  // aside: reachable: 188
    where.ss_sp            = aside;
    where.ss_size          = MEMORY_BYTES;
    how.sa_handler         = end_now;
    how.sa_flags           = SA_ONSTACK;
    sigaltstack(&where, nullptr);
    sigaction(SIGUSR1, &how, nullptr);
    raise(SIGUSR1);
    free(block);
    return nullptr;
}

NEVER_INLINED void aside()
{
    char      room[MEMORY_BYTES];
    pthread_t one;
    pthread_create(&one, nullptr, get_signal, room);
    pthread_join(one, nullptr);
}

// Overwrites its caller's frame pointer, which it has saved on the stack.
NEVER_INLINED void damaged()
{
    void* volatile block                                   = malloc(199);  // damaged: lost: 199
    static_cast<uintptr_t*>(__builtin_frame_address(0))[0] = UINTPTR_MAX / 5;
    block                                                  = nullptr;
    _exit(0);
}

// When main() has returned, the frames of exit() have the words in them that were left there.
NEVER_INLINED void returned()
{
    leave_on_stack(~reinterpret_cast<uintptr_t>(malloc(166)));  // returned: lost: 166
}

// A block that the C library allocates for its caller is lost like any other.
NEVER_INLINED void library()
{
    char* volatile text = nullptr;
    if (asprintf(const_cast<char**>(&text), "%0176d", 0) == 176) {  // library: lost: 177
        text = nullptr;
    }
}

struct program {
    const char* name;
    void (*run)();
};

const program programs[] = {
    {"forget", forget}, {"keep", keep},         {"overwrite", overwrite}, {"list", list},
    {"circle", circle}, {"itself", itself},     {"inside", inside},       {"large", large},
    {"thread", thread}, {"waiting", waiting},   {"object", object},       {"hidden", hidden},
    {"mapped", mapped}, {"reserved", reserved}, {"slab", slab},           {"coroutine", coroutine},
    {"below", below},   {"blind", blind},       {"returned", returned},   {"library", library},
    {"aside", aside},   {"damaged", damaged},   {"read_only", read_only}, {"shared", shared},
    {"sparse", sparse},
};

}  // namespace

int main(int count, char** words)
{
    for (const program& each : programs) {
        if (count > 1 && strcmp(each.name, words[1]) == 0) {
            each.run();
            if (each.run != returned || !knows_return) {
                clear_stack();
            }
        }
    }
    return 0;
}
