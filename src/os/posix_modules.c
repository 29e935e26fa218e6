// SPDX-License-Identifier: MIT
#include "posix_features.h"

#include "posix_modules.h"

#ifdef EGB_OS_HAS_MODULES
  #include <link.h>
  #include <sys/auxv.h>

  // A static program lacks it.
  #pragma weak dlsym

enum {
    LIBRARIES        = 512,
    HEADER_BYTES_MAX = 4096,  // the smallest page of the processor
    MARK_BYTES       = 1024
};

// It takes no lock.
typedef int find_object_fn(void* address, struct dl_find_object* found);

uint64_t egb_modules_age_;

// Written once, before the first question.
static find_object_fn* find_object;
static egb_module      program;

// There may be holes in a module. All that is read of it lies in the part that has the header.
// False: it has none, or may change it.
static bool find_part(const struct dl_find_object* found, egb_cfi_module* out)
{
    const ElfW(Ehdr)* const file  = found->dlfo_map_start;
    const size_t            bytes = sizeof *file + file->e_phnum * sizeof(ElfW(Phdr));
    if (__builtin_memcmp(file->e_ident, ELFMAG, SELFMAG) != 0 || file->e_phoff != sizeof *file ||
        file->e_phentsize != sizeof(ElfW(Phdr)) || bytes > HEADER_BYTES_MAX) {
        return false;
    }
    const ElfW(Phdr)* const parts  = (const ElfW(Phdr)*)(file + 1);
    const uintptr_t         base   = found->dlfo_link_map->l_addr;
    const uintptr_t         header = (uintptr_t)found->dlfo_eh_frame - base;
    for (size_t i = 0; i < file->e_phnum; i++) {
        if (parts[i].p_type == PT_LOAD && (parts[i].p_flags & PF_W) == 0 &&
            header - parts[i].p_vaddr < parts[i].p_filesz) {
            const unsigned char* const from = (const unsigned char*)(base + parts[i].p_vaddr);
            *out = (egb_cfi_module){from, from + parts[i].p_filesz, found->dlfo_eh_frame};
            return true;
        }
    }
    return false;
}

bool egb_module_find_(uintptr_t address, egb_module* out)
{
    struct dl_find_object found;
    if (find_object((void*)address, &found) != 0) {
        return false;
    }
    out->from        = (uintptr_t)found.dlfo_map_start;
    out->to          = (uintptr_t)found.dlfo_map_end;
    out->information = (egb_cfi_module){NULL, NULL, NULL};
    if (found.dlfo_eh_frame != NULL) {
        (void)find_part(&found, &out->information);
    }
    return true;
}

bool egb_module_is_in_program_(uintptr_t address)
{
    return address >= program.from && address < program.to;
}

// ---- libraries that were seen -------------------------------------------------------------------

typedef enum library_state { LIBRARY_NONE, LIBRARY_LOADED, LIBRARY_GONE } library_state;

// Only the state changes once the place is no longer free.
typedef struct known_library {
    uintptr_t     from;
    uintptr_t     to;
    uint64_t      mark;
    library_state state;  // atomic
} known_library;

static known_library libraries[LIBRARIES];
static size_t        library_count;  // atomic; more than LIBRARIES: all places are taken

static uint64_t mark_bytes(uint64_t mark, const unsigned char* from, size_t bytes)
{
    for (size_t i = 0; i + sizeof mark <= bytes; i += sizeof mark) {
        uint64_t word = 0;
        (void)__builtin_memcpy(&word, from + i, sizeof word);
        mark = (mark ^ word) * 0x9E3779B97F4A7C15u;
        mark ^= mark >> 32;
    }
    return mark;
}

// Made of the file's header, where most linkers write an identity of the build, and of the
// information.
static uint64_t mark_of(const egb_module* module)
{
    const egb_cfi_module* const in   = &module->information;
    const size_t                left = (size_t)(in->to - in->header);
    const uint64_t mark = mark_bytes((uintptr_t)in->header, (const void*)module->from, MARK_BYTES);
    return in->header == NULL ? mark
                              : mark_bytes(mark, in->header, left < MARK_BYTES ? left : MARK_BYTES);
}

static bool add_library(const egb_module* module, uint64_t mark)
{
    if (__atomic_load_n(&library_count, __ATOMIC_RELAXED) >= LIBRARIES) {
        return false;
    }
    const size_t i = __atomic_fetch_add(&library_count, 1, __ATOMIC_RELAXED);
    if (i >= LIBRARIES) {
        return false;
    }
    libraries[i].from = module->from;
    libraries[i].to   = module->to;
    libraries[i].mark = mark;
    __atomic_store_n(&libraries[i].state, LIBRARY_LOADED, __ATOMIC_RELEASE);
    return true;
}

// The age changes first: a fork between the two leaves nothing out.
static void change_state(known_library* library, library_state to)
{
    (void)__atomic_fetch_add(&egb_modules_age_, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&library->state, to, __ATOMIC_RELEASE);
}

// A library that a call of this thread is in: no other thread can see another one at its place.
// False: there is no room for it.
static bool note_library(const egb_module* module)
{
    const uint64_t mark  = mark_of(module);
    known_library* same  = NULL;
    size_t         count = __atomic_load_n(&library_count, __ATOMIC_RELAXED);
    count                = count < LIBRARIES ? count : LIBRARIES;
    for (size_t i = 0; i < count; i++) {
        known_library* const one   = &libraries[i];
        const library_state  state = __atomic_load_n(&one->state, __ATOMIC_ACQUIRE);
        if (state == LIBRARY_NONE || one->from >= module->to || one->to <= module->from) {
            continue;
        }
        if (one->from == module->from && one->to == module->to && one->mark == mark) {
            same = one;
        } else if (state == LIBRARY_LOADED) {
            change_state(one, LIBRARY_GONE);
        }
    }
    if (same == NULL) {
        return add_library(module, mark);
    }
    if (__atomic_load_n(&same->state, __ATOMIC_RELAXED) == LIBRARY_GONE) {
        change_state(same, LIBRARY_LOADED);
    }
    return true;
}

bool egb_modules_note_(const egb_os_call* calls, size_t count)
{
    egb_module module = {0, 0, {NULL, NULL, NULL}};
    for (size_t i = 0; i < count; i++) {
        const uintptr_t address = (uintptr_t)calls[i].address - 1;
        const bool      is_in   = address >= module.from && address < module.to;
        if (!is_in && !egb_module_is_in_program_(address) && egb_module_find_(address, &module) &&
            !note_library(&module)) {
            return false;
        }
    }
    return true;
}

const egb_module* egb_modules_program_(void)
{
    return &program;
}

bool egb_modules_prepare_(void)
{
    *(void**)&find_object = dlsym == NULL ? NULL : dlsym(RTLD_DEFAULT, "_dl_find_object");
    if (find_object == NULL) {
        return false;
    }
    (void)egb_module_find_(getauxval(AT_ENTRY), &program);
    return true;
}

#endif
