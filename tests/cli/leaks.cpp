// SPDX-License-Identifier: MIT
// Programs with a leak each, for reach.py: the word selects one. Its name and "lost: N" or
// "indirect: N" stand on the line that allocates N bytes which the program has lost at its end, and
// "reachable: N" on a line whose blocks it still has.
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
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

#define NEVER_INLINED __attribute__((noinline))

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

NEVER_INLINED void waiting()
{
    char      begun;
    pthread_t one;
    (void)!pipe(has_begun);
    pthread_create(&one, nullptr, wait_in_thread, nullptr);
    (void)!read(has_begun[0], &begun, 1);
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

// Memory that the program got by itself.
NEVER_INLINED void mapped()
{
    constexpr int kind = MAP_PRIVATE | MAP_ANONYMOUS;
    void** const  memory =
        static_cast<void**>(mmap(nullptr, 65536, PROT_READ | PROT_WRITE, kind, -1, 0));
    memory[1000] = malloc(99);  // mapped: reachable: 99
}

struct program {
    const char* name;
    void (*run)();
};

const program programs[] = {
    {"forget", forget},
    {"keep", keep},
    {"overwrite", overwrite},
    {"list", list},
    {"circle", circle},
    {"itself", itself},
    {"inside", inside},
    {"large", large},
    {"thread", thread},
    {"waiting", waiting},
    {"object", object},
    {"hidden", hidden},
    {"mapped", mapped},
};

}  // namespace

int main(int count, char** words)
{
    for (const program& each : programs) {
        if (count > 1 && strcmp(each.name, words[1]) == 0) {
            each.run();
            clear_stack();
        }
    }
    return 0;
}
