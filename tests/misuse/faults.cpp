// SPDX-License-Identifier: MIT
// A program that misuses malloc in one way in each process, and then looks for damage: blocks that
// overlap, lie at impossible addresses, or lose their contents. It knows nothing of any allocator;
// scripts/misuse_table.py puts it under several.
//
// usage: misuse_faults          names what there is, a line each: name, kind, description
//        misuse_faults NAME     exit status 0: no damage seen; else one of enum verdict
#include "blocks.hpp"

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <new>
#include <thread>

#include <dlfcn.h>
#include <sys/mman.h>

namespace
{

alignas(64) char static_bytes[4096];

// Two blocks to misuse, and many more in use beside them.
char* one;
char* two;
char* others[others_most];

// ---- what a fault may lead to -------------------------------------------------------------------

unsigned char* found[blocks_most];

bool is_within(const void* block, std::uintptr_t start, std::size_t bytes)
{
    return reinterpret_cast<std::uintptr_t>(block) - start < bytes;
}

bool can_be_a_block(const void* block)
{
    const char here  = 0;
    const auto stack = reinterpret_cast<std::uintptr_t>(&here);
    const auto fixed = reinterpret_cast<std::uintptr_t>(static_bytes);
    return !is_within(block, stack - 65536, 131072) &&
           !is_within(block, fixed, sizeof static_bytes);
}

unsigned char pattern(int number, std::size_t place)
{
    return static_cast<unsigned char>(place < 2 ? number >> 8 * place : number * 7 + 1);
}

verdict take_all(std::size_t bytes)
{
    for (int i = 0; i < blocks_most; i++) {
        found[i] = static_cast<unsigned char*>(std::malloc(bytes));
        if (found[i] == nullptr) {
            return wrong_answer;
        }
        if (!can_be_a_block(found[i])) {
            return damage;
        }
        for (std::size_t k = 0; k < bytes; k++) {
            found[i][k] = pattern(i, k);
        }
    }
    return no_damage;
}

// Each block still has its own contents.
verdict compare_all(std::size_t bytes)
{
    for (int i = 0; i < blocks_most; i++) {
        for (std::size_t k = 0; k < bytes; k++) {
            if (found[i][k] != pattern(i, k)) {
                return damage;
            }
        }
    }
    return no_damage;
}

// Twice: fresh blocks the first time, those that were given back the second time.
verdict look_for_damage(std::size_t bytes)
{
    for (int round = 0; round < 2; round++) {
        verdict seen = take_all(bytes);
        seen         = seen == no_damage ? compare_all(bytes) : seen;
        if (seen != no_damage) {
            return seen;
        }
        for (int i = 0; round == 0 && i < blocks_most; i++) {
            std::free(found[i]);
        }
    }
    return no_damage;
}

verdict afterwards()
{
    return look_for_damage(small);
}

// ---- frees --------------------------------------------------------------------------------------

verdict twice()
{
    put_back(one);
    put_back(one);
    return afterwards();
}

verdict twice_with_another_between()
{
    put_back(one);
    put_back(two);
    put_back(one);
    return afterwards();
}

verdict twice_with_64_between()
{
    put_back(one);
    for (char* const other : others) {
        put_back(other);
    }
    put_back(one);
    return afterwards();
}

verdict twice_with_20000_pairs_between()
{
    put_back(one);
    put_back(two);
    for (int i = 0; i < 20000; i++) {
        put_back(block_of(small));
    }
    put_back(one);
    return afterwards();
}

verdict twice_large()
{
    char* const block = block_of(large);
    put_back(block);
    put_back(block);
    return afterwards();
}

verdict twice_large_with_another_between()
{
    char* const block = block_of(large);
    char* const other = block_of(large);
    put_back(block);
    put_back(other);
    put_back(block);
    return afterwards();
}

verdict here_after_a_thread()
{
    put_back_on_a_thread(one);
    put_back(one);
    return afterwards();
}

verdict on_a_thread_after_here()
{
    put_back(one);
    put_back_on_a_thread(one);
    return afterwards();
}

verdict on_two_threads()
{
    put_back_on_a_thread(one);
    put_back_on_a_thread(one);
    return afterwards();
}

verdict put_back_and_look(void* block)
{
    put_back(block);
    return afterwards();
}

verdict of_the_stack()
{
    alignas(64) char bytes[256] = {};
    return put_back_and_look(bytes + 64);
}

verdict of_static_memory()
{
    return put_back_and_look(static_bytes + 64);
}

verdict sixteen_bytes_in()
{
    return put_back_and_look(one + 16);
}

verdict eight_bytes_in()
{
    return put_back_and_look(one + 8);
}

verdict one_byte_in()
{
    return put_back_and_look(one + 1);
}

verdict a_page_into_a_large_one()
{
    return put_back_and_look(block_of(large) + 4096);
}

char* map()
{
    return static_cast<char*>(
        mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
    );
}

verdict of_a_mapping()
{
    return put_back_and_look(map());
}

verdict into_a_mapping()
{
    return put_back_and_look(map() + 64);
}

verdict of_no_address_there_is()
{
    return put_back_and_look(
        reinterpret_cast<void*>(static_cast<std::uintptr_t>(0x1234567890ab40u & UINTPTR_MAX))
    );
}

verdict of_a_small_number()
{
    return put_back_and_look(reinterpret_cast<void*>(static_cast<std::uintptr_t>(64)));
}

verdict realloc_of_a_free_block()
{
    put_back(one);
    (void)hidden(std::realloc(hidden(one), 4000));
    return afterwards();
}

verdict realloc_of_a_free_large_block()
{
    char* const block = block_of(large);
    put_back(block);
    (void)hidden(std::realloc(hidden(block), 2 * large));
    return afterwards();
}

verdict delete_of_another_large_size()
{
    ::operator delete(hidden(::operator new(large)), hidden<std::size_t>(2 * large));
    return afterwards();
}

verdict delete_of_another_size()
{
    ::operator delete(hidden(::operator new(64)), hidden<std::size_t>(4096));
    return afterwards();
}

// C23's, where there are such functions; else free().
verdict free_with_another_size()
{
    void (*sized)(void*, std::size_t) = nullptr;
    *reinterpret_cast<void**>(&sized) = dlsym(RTLD_DEFAULT, "free_sized");
    if (sized == nullptr) {
        return put_back_and_look(one);
    }
    sized(hidden(one), hidden<std::size_t>(4096));
    return afterwards();
}

verdict free_with_another_alignment()
{
    void (*sized)(void*, std::size_t, std::size_t) = nullptr;
    *reinterpret_cast<void**>(&sized)              = dlsym(RTLD_DEFAULT, "free_aligned_sized");
    void* const block                              = hidden(aligned_alloc(64, 64));
    if (sized == nullptr) {
        return put_back_and_look(block);
    }
    sized(block, hidden<std::size_t>(48), 64);
    return afterwards();
}

verdict free_of_an_array_of_new()
{
    put_back(::operator new[](40));
    return afterwards();
}

// ---- writes -------------------------------------------------------------------------------------

// The block, and the one beside it, go back afterwards.
verdict write_and_put_back(std::ptrdiff_t offset, int count)
{
    write_at(one, offset, count);
    put_back(one);
    put_back(two);
    return afterwards();
}

verdict one_behind()
{
    return write_and_put_back(end_of(one), 1);
}

verdict eight_behind()
{
    return write_and_put_back(end_of(one), 8);
}

verdict one_before()
{
    return write_and_put_back(-1, 1);
}

verdict sixteen_before()
{
    return write_and_put_back(-16, 16);
}

// Between two others, and as long as it asked for: whole pages.
verdict write_to_a_large_one(std::ptrdiff_t offset, int count)
{
    char* const before = block_of(large);
    char* const block  = block_of(large);
    char* const behind = block_of(large);
    write_at(block, offset, count);
    put_back(block);
    put_back(before);
    put_back(behind);
    return afterwards();
}

verdict one_behind_a_large_one()
{
    return write_to_a_large_one(static_cast<std::ptrdiff_t>(large), 1);
}

verdict a_page_behind_a_large_one()
{
    return write_to_a_large_one(static_cast<std::ptrdiff_t>(large), 4096);
}

verdict one_before_a_large_one()
{
    return write_to_a_large_one(-1, 1);
}

verdict first_byte_of_a_free_large_block()
{
    char* const block = block_of(large);
    put_back(block);
    write_at(block, 0, 1);
    return afterwards();
}

verdict middle_of_a_free_large_block()
{
    char* const block = block_of(large);
    put_back(block);
    write_at(block, large / 2, 1);
    return afterwards();
}

verdict over_the_next_block()
{
    char* const block  = block_of(64);
    char* const victim = block_of(64);
    std::memset(victim, 7, 64);
    write_at(block, end_of(block), 64);
    put_back(block);
    for (int i = 0; i < 64; i++) {
        if (victim[i] != 7) {
            return damage;
        }
    }
    put_back(victim);
    return no_damage;
}

verdict behind_one_of_no_bytes()
{
    char* const block = block_of(0);
    if (block != nullptr) {
        write_at(block, end_of(block), 1);
        put_back(block);
    }
    return afterwards();
}

verdict first_bytes_of_a_free_block()
{
    put_back(one);
    write_at(one, 0, 8);
    return afterwards();
}

verdict next_bytes_of_a_free_block()
{
    put_back(one);
    write_at(one, 8, 8);
    return afterwards();
}

verdict middle_of_a_free_block()
{
    char* const block = block_of(middling);
    put_back(block);
    write_at(block, middling / 2, 1);
    return look_for_damage(middling);
}

// An allocator may have its link to the next free block here.
verdict an_address_into_a_free_block()
{
    put_back(two);
    put_back(one);
    void* const target = static_bytes + 128;
    std::memcpy(hidden(one), &target, sizeof target);
    return afterwards();
}

// ---- no faults ----------------------------------------------------------------------------------

verdict read_of_a_free_block()
{
    char* const block = block_of(middling);
    std::memset(block, 'Z', middling);
    put_back(block);
    const volatile char* const at   = hidden(block);
    int                        left = 0;
    for (std::size_t i = 16; i < middling; i++) {
        left += at[i] == 'Z' ? 1 : 0;
    }
    return left > 200 ? stale_data : no_damage;
}

verdict more_than_there_can_be()
{
    const std::size_t most = hidden<std::size_t>(SIZE_MAX);
    for (const std::size_t bytes : {most, most - 64, most / 2 + 1}) {
        if (hidden(std::malloc(bytes)) != nullptr) {
            return wrong_answer;
        }
    }
    return no_damage;
}

verdict a_product_that_overflows()
{
    const std::size_t most = hidden<std::size_t>(SIZE_MAX);
    return hidden(std::calloc(most / 2 + 2, 2)) == nullptr ? no_damage : wrong_answer;
}

verdict refuses_alignment(std::size_t align)
{
    void*      block = nullptr;
    const bool is_so = posix_memalign(&block, hidden(align), 64) == EINVAL && block == nullptr;
    return is_so ? no_damage : wrong_answer;
}

verdict an_alignment_of_24()
{
    return refuses_alignment(24);
}

verdict an_alignment_of_0()
{
    return refuses_alignment(0);
}

verdict free_of_null()
{
    return put_back_and_look(nullptr);
}

// ---- all of them --------------------------------------------------------------------------------

// A fault is a call or a write that no correct program makes; a probe asks what an allocator leaves
// in blocks; the rest is legal, and has one right answer.
struct entry {
    const char* name;
    const char* kind;
    verdict (*run)();
    const char* what;
};

const entry entries[] = {
    {"double_free", "fault", twice, "a free twice, one after the other"},
    {"double_free_1_between", "fault", twice_with_another_between, "one other free between them"},
    {"double_free_64_between", "fault", twice_with_64_between, "64 other frees between them"},
    {"double_free_pairs_between",
     "fault",
     twice_with_20000_pairs_between,
     "20,000 pairs of malloc and free between them"},
    {"double_free_large", "fault", twice_large, "of a block of 1 MiB"},
    {"double_free_large_between",
     "fault",
     twice_large_with_another_between,
     "the free of another such block between them"},
    {"double_free_thread_here", "fault", here_after_a_thread, "on another thread, then here"},
    {"double_free_here_thread", "fault", on_a_thread_after_here, "here, then on another thread"},
    {"double_free_threads", "fault", on_two_threads, "on two other threads"},
    {"free_stack", "fault", of_the_stack, "an address of the stack"},
    {"free_static", "fault", of_static_memory, "an address of static memory"},
    {"free_interior_16", "fault", sixteen_bytes_in, "16 bytes into a block"},
    {"free_interior_8", "fault", eight_bytes_in, "8 bytes into a block"},
    {"free_interior_1", "fault", one_byte_in, "1 byte into a block"},
    {"free_interior_large", "fault", a_page_into_a_large_one, "a page into a block of 1 MiB"},
    {"free_mapping", "fault", of_a_mapping, "the start of memory from mmap"},
    {"free_mapping_interior", "fault", into_a_mapping, "the middle of it"},
    {"free_wild", "fault", of_no_address_there_is, "an address that no processor has"},
    {"free_small_number", "fault", of_a_small_number, "64, as an address"},
    {"realloc_free_block", "fault", realloc_of_a_free_block, "realloc of a block that is free"},
    {"realloc_free_large", "fault", realloc_of_a_free_large_block, "of a block of 1 MiB"},
    {"delete_large_size", "fault", delete_of_another_large_size, "delete of 1 MiB as if of 2"},
    {"delete_other_size", "fault", delete_of_another_size, "delete of 64 bytes as if of 4096"},
    {"free_sized_other", "fault", free_with_another_size, "free_sized of 40 bytes as if of 4096"},
    {"free_sized_align",
     "fault",
     free_with_another_alignment,
     "free_aligned_sized with an alignment of 48"},
    {"free_of_new_array", "fault", free_of_an_array_of_new, "free of what new[] gave"},
    {"overrun_1", "fault", one_behind, "a write of 1 byte behind a block"},
    {"overrun_8", "fault", eight_behind, "of 8 bytes"},
    {"overrun_64", "fault", over_the_next_block, "of 64 bytes, where another block may be"},
    {"overrun_no_bytes", "fault", behind_one_of_no_bytes, "of 1 byte behind a block of 0"},
    {"underrun_1", "fault", one_before, "a write of 1 byte before a block"},
    {"underrun_16", "fault", sixteen_before, "of 16 bytes"},
    {"overrun_large_1", "fault", one_behind_a_large_one, "of 1 byte behind a block of 1 MiB"},
    {"overrun_large_page", "fault", a_page_behind_a_large_one, "of 4096 bytes"},
    {"underrun_large_1", "fault", one_before_a_large_one, "of 1 byte before a block of 1 MiB"},
    {"free_write_first",
     "fault",
     first_bytes_of_a_free_block,
     "a write to the first 8 bytes of a free block"},
    {"free_write_next", "fault", next_bytes_of_a_free_block, "to the next 8"},
    {"free_write_middle", "fault", middle_of_a_free_block, "to 1 in the middle of 256"},
    {"free_write_large", "fault", first_byte_of_a_free_large_block, "to the first of 1 MiB"},
    {"free_write_large_middle", "fault", middle_of_a_free_large_block, "to 1 in its middle"},
    {"free_write_address", "fault", an_address_into_a_free_block, "of an address that may serve"},
    {"stale_data", "probe", read_of_a_free_block, "whether a free block still has what was in it"},
    {"malloc_most", "legal", more_than_there_can_be, "malloc of SIZE_MAX bytes"},
    {"calloc_overflow", "legal", a_product_that_overflows, "calloc of a product that overflows"},
    {"align_24", "legal", an_alignment_of_24, "posix_memalign to 24"},
    {"align_0", "legal", an_alignment_of_0, "posix_memalign to 0"},
    {"free_null", "legal", free_of_null, "free of NULL"},
};

}  // namespace

int main(int count, char** words)
{
    for (const entry& each : entries) {
        if (count == 1) {
            std::printf("%s\t%s\t%s\n", each.name, each.kind, each.what);
        } else if (std::strcmp(words[1], each.name) == 0) {
            for (char*& other : others) {
                other = block_of(small);
            }
            one = block_of(small);
            two = block_of(small);
            std::memset(one, 1, small);
            std::memset(two, 2, small);
            std::_Exit(each.run());  // at the end nothing is to be said but of the fault
        }
    }
    return count == 1 ? no_damage : usage;
}
