// SPDX-License-Identifier: MIT
// A program for Windows, for clang_cl.py: its exit code is 0, or the number of the first check that
// failed. It has no C runtime of Microsoft's, hence a start of its own.
#include "eggbox/fixed.h"
#include "eggbox/heap.h"
#include "eggbox/pool.h"

#include <windows.h>

EGB_FIXED_DEFINE_MARKED(samples, double, 4);  // samples_alloc() is not called: no warning

static const void* site_of_misuse;

static void note_site(const egb_misuse_event* event, void*)
{
    site_of_misuse = event->site;
}

// The blocks that a thread leaves behind are there for others: the system tells of its end.
static DWORD WINAPI free_and_end(void* block)
{
    egb_free(block);
    return 0;
}

static bool thread_frees(void* block)
{
    const HANDLE thread = CreateThread(nullptr, 0, free_and_end, block, 0, nullptr);
    return thread != nullptr && WaitForSingleObject(thread, INFINITE) == 0;
}

// Each public function that is inline in C++ is called: without optimisation, too, the program has
// none of them, because the library has them.
static unsigned first_wrong()
{
    void* const sample = egb_fixed_alloc(&samples);
    egb_fixed_free(&samples, sample);
    if (sample == nullptr || egb_fixed_in_use(&samples) != 0) {
        return 1;
    }
    egb_pool         pool{0, 0};
    egb_pool_options options{};
    options.block_bytes = 16;
    if (egb_pool_create(&pool, &options) != EGB_OK) {
        return 2;
    }
    void* const block = egb_pool_alloc(pool);
    egb_pool_free(pool, block);
    egb_misuse_set_handler(note_site, nullptr);
    egb_pool_free(pool, block);
    if (block == nullptr || site_of_misuse == nullptr) {
        return 3;
    }
    if (egb_pool_destroy(pool, EGB_DESTROY_REFUSE) != EGB_OK) {
        return 4;
    }
    void* const bytes = egb_malloc(24);
    return bytes != nullptr && thread_frees(bytes) ? 0 : 5;
}

extern "C" {

int _fltused;  // the compiler asks for it if a program has floating-point numbers

// The functions that run before main() lie between these two, in order of their sections' names.
#pragma section(".CRT$XCA", read)
#pragma section(".CRT$XCZ", read)
__declspec(allocate(".CRT$XCA")) void (*const before_first[1])() = {nullptr};
__declspec(allocate(".CRT$XCZ")) void (*const behind_last[1])()  = {nullptr};

void mainCRTStartup()
{
    for (void (*const volatile* start)() = before_first + 1; start < behind_last; start++) {
        if (*start != nullptr) {
            (*start)();
        }
    }
    ExitProcess(first_wrong());
}
}
