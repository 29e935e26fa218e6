// SPDX-License-Identifier: MIT
// The reader of call-frame information, on sections that the test writes: what the instructions
// mean, and that nothing outside the section is read, whatever the bytes are.
extern "C" {
#include "posix_cfi.h"
}

#include <gtest/gtest.h>

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

namespace
{

using bytes = std::vector<unsigned char>;

constexpr unsigned FUNCTION_BYTES = 0x40;

bytes operator+(bytes left, const bytes& right)
{
    left.insert(left.end(), right.begin(), right.end());
    return left;
}

void add_number(bytes& to, std::uint32_t number)
{
    for (unsigned shift = 0; shift < 32; shift += 8) {
        to.push_back(static_cast<unsigned char>(number >> shift));
    }
}

// A record with its length, up to a multiple of 4 with instructions that do nothing.
bytes record(bytes content)
{
    while (content.size() % 4 != 0) {
        content.push_back(0);
    }
    bytes out;
    add_number(out, static_cast<std::uint32_t>(content.size()));
    return out + content;
}

// As the compiler writes it: the top is rsp + 8, the return address below it.
const bytes usual_start = {0x0C, 7, 8, 0x90, 1};
const bytes usual_parts = {0x1B};

// A header, the common record, and the record of one function, which begins where the section ends.
// With `letters` come `parts`.
bytes section(
    const bytes&  instructions,
    const char*   letters = "zR",
    const bytes&  parts   = usual_parts,
    unsigned char column  = 16
)
{
    constexpr std::uint32_t header_bytes = 20;
    bytes                   common       = {0, 0, 0, 0, 1};
    common = common + bytes(letters, letters + std::strlen(letters) + 1) + bytes{1, 0x78, column};
    common = record(common + bytes{static_cast<unsigned char>(parts.size())} + parts + usual_start);
    bytes      function;
    const auto own = header_bytes + static_cast<std::uint32_t>(common.size());
    add_number(function, static_cast<std::uint32_t>(common.size()) + 4);
    add_number(function, 0);  // the beginning, below
    add_number(function, FUNCTION_BYTES);
    function = record(function + bytes{0} + instructions);

    const auto all   = own + static_cast<std::uint32_t>(function.size());
    const auto begin = all - (own + 8);
    std::memcpy(function.data() + 8, &begin, sizeof begin);
    bytes header = {1, 0x1B, 0x03, 0x3B};
    add_number(header, header_bytes - 4);
    add_number(header, 1);
    add_number(header, all);
    add_number(header, own);
    return header + common + function;
}

// Pages that can be used, between two that cannot.
class fenced
{
  public:
    fenced() : page(static_cast<std::size_t>(sysconf(_SC_PAGESIZE)))
    {
        void* const at = mmap(nullptr, 3 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        EXPECT_NE(at, MAP_FAILED);
        all = static_cast<unsigned char*>(at);
        EXPECT_EQ(mprotect(all + page, page, PROT_READ | PROT_WRITE), 0);
    }
    fenced(const fenced&)            = delete;
    fenced& operator=(const fenced&) = delete;
    ~fenced()
    {
        EXPECT_EQ(munmap(all, 3 * page), 0);
    }

    // The rule of the return address that is `away` behind the beginning of the function. `content`
    // lies at the end of the page, or at its beginning.
    egb_cfi_rule rule(const bytes& content, std::size_t away, bool is_at_end = true) const
    {
        unsigned char* const from = all + page + (is_at_end ? page - content.size() : 0);
        std::memcpy(from, content.data(), content.size());
        const egb_cfi_module module = {from, from + content.size(), from};
        return egb_cfi_rule_(&module, reinterpret_cast<std::uintptr_t>(module.to) + away);
    }

  private:
    std::size_t    page;
    unsigned char* all;
};

void expect_rule(
    egb_cfi_rule found, egb_cfi_top top, int top_offset, egb_cfi_frame frame, int frame_offset
)
{
    EXPECT_EQ(found.top, top);
    if (top != EGB_CFI_OTHER && top != EGB_CFI_LAST) {
        EXPECT_EQ(found.top_offset, top_offset);
        EXPECT_EQ(found.frame, frame);
        EXPECT_EQ(found.frame_offset, frame_offset);
    }
}

void expect_other(const bytes& content)
{
    const fenced all;
    expect_rule(all.rule(content, 0x20), EGB_CFI_OTHER, 0, EGB_CFI_KEPT, 0);
}

// push rbp; mov rbp, rsp; ... ; pop rbp; ret; and code behind that.
const bytes with_frame = {
    0x41, 0x0E, 16, 0x86, 2, 0x43, 0x0D, 6, 0x0A, 0x50, 0x0C, 7, 8, 0xC6, 0x41, 0x0B
};

// The stack is aligned, and the frame leads to where it was.
const bytes aligned = {
    0x45, 0x0C, 10, 0, 0x49, 0x10, 6, 2, 0x76, 0x00, 0x43, 0x0F, 3, 0x76, 0x78, 6
};

}  // namespace

TEST(cfi, tells_each_row_of_a_function_with_a_frame)
{
    const fenced all;
    const bytes  content = section(with_frame);
    expect_rule(all.rule(content, 1), EGB_CFI_BY_STACK, 8, EGB_CFI_KEPT, 0);
    expect_rule(all.rule(content, 2), EGB_CFI_BY_STACK, 16, EGB_CFI_BELOW_TOP, -16);
    expect_rule(all.rule(content, 4), EGB_CFI_BY_STACK, 16, EGB_CFI_BELOW_TOP, -16);
    expect_rule(all.rule(content, 5), EGB_CFI_BY_FRAME, 16, EGB_CFI_BELOW_TOP, -16);
    expect_rule(all.rule(content, 0x14), EGB_CFI_BY_FRAME, 16, EGB_CFI_BELOW_TOP, -16);
    expect_rule(all.rule(content, 0x15), EGB_CFI_BY_STACK, 8, EGB_CFI_KEPT, 0);
    expect_rule(all.rule(content, 0x16), EGB_CFI_BY_FRAME, 16, EGB_CFI_BELOW_TOP, -16);
    expect_rule(all.rule(content, FUNCTION_BYTES), EGB_CFI_BY_FRAME, 16, EGB_CFI_BELOW_TOP, -16);
}

TEST(cfi, knows_nothing_outside_of_functions)
{
    const fenced all;
    const bytes  content = section(with_frame);
    EXPECT_EQ(all.rule(content, 0).top, EGB_CFI_NONE);
    EXPECT_EQ(all.rule(content, FUNCTION_BYTES + 1).top, EGB_CFI_NONE);
    const egb_cfi_module empty = {nullptr, nullptr, nullptr};
    EXPECT_EQ(egb_cfi_rule_(&empty, 0x1000).top, EGB_CFI_OTHER);
}

TEST(cfi, ends_where_the_return_address_is_undefined)
{
    const fenced all;
    EXPECT_EQ(all.rule(section({0x07, 16}), 0x20).top, EGB_CFI_LAST);
}

TEST(cfi, reads_what_aligns_a_stack)
{
    const fenced all;
    const bytes  content = section(aligned);
    expect_rule(all.rule(content, 6), EGB_CFI_OTHER, 0, EGB_CFI_KEPT, 0);
    expect_rule(all.rule(content, 0x20), EGB_CFI_BY_POINTER, -8, EGB_CFI_BEHIND_FRAME, 0);
}

TEST(cfi, reads_each_instruction)
{
    const fenced all;
    const auto   expect = [&all](const bytes& instructions, int top, int frame) {
        expect_rule(
            all.rule(section(instructions), 0x20),
            EGB_CFI_BY_STACK,
            top,
            frame == 0 ? EGB_CFI_KEPT : EGB_CFI_BELOW_TOP,
            frame
        );
    };
    expect({0x02, 0x1F, 0x0E, 24}, 24, 0);  // the last byte before the return address
    expect({0x02, 0x20, 0x0E, 24}, 8, 0);
    expect({0x03, 0x1F, 0, 0x0E, 24}, 24, 0);
    expect({0x03, 0, 1, 0x0E, 24}, 8, 0);
    expect({0x04, 0x1F, 0, 0, 0, 0x0E, 24}, 24, 0);
    expect({0x04, 0, 0, 1, 0, 0x0E, 24}, 8, 0);
    expect({0x0E, 0x90, 0x20}, 0x1010, 0);
    expect({0x12, 7, 0x7D}, 24, 0);  // -3 units of -8 bytes
    expect({0x13, 0x7C}, 32, 0);
    expect({0x05, 6, 3}, 8, -24);
    expect({0x11, 6, 4}, 8, -32);
    expect({0x86, 2, 0x06, 6}, 8, 0);
    expect({0x86, 2, 0x08, 6}, 8, 0);
    expect({0x86, 2, 0x07, 6}, 8, 0);
    expect({0x2E, 16, 0x83, 3, 0x09, 3, 12, 0x14, 12, 1, 0x16, 3, 1, 0x50}, 8, 0);  // others
}

TEST(cfi, leaves_other_shapes_to_the_unwinder)
{
    expect_other(section({0x01, 0, 0, 0, 0}));
    expect_other(section({0x3F}));
    expect_other(section({0x0B}));
    expect_other(section(bytes(9, 0x0A)));
    expect_other(section({0x0C, 10, 8}));
    expect_other(section({0x0E, 12}));
    expect_other(section({0x0E, 0x80, 0x80, 0x80, 1}));
    expect_other(section({0x0F, 3, 0x77, 0x08, 6}));
    expect_other(section({0x0F, 4, 0x76, 0x08, 6, 6}));
    expect_other(section({0x90, 2}));
    expect_other(section({0x09, 16, 3}));
    expect_other(section({0x87, 2}));
    expect_other(section({0x09, 6, 3}));
    expect_other(section({0x16, 6, 2, 0x76, 0}));
    expect_other(section({0x14, 6, 1}));
    expect_other(section({0x15, 6, 1}));
    expect_other(section({0, 0, 0x0E}));
    expect_other(section({}, "zRS"));
    expect_other(section({}, "zQ"));
    expect_other(section({}, "R"));
    expect_other(section({}, "zR", {0x9B}));
    expect_other(section({}, "zR", usual_parts, 17));
    EXPECT_EQ(
        fenced().rule(section({}, "zPLR", {0x03, 1, 2, 3, 4, 0x03, 0x1B}), 1).top, EGB_CFI_BY_STACK
    );
}

// A read outside would end the test.
TEST(cfi, reads_nothing_outside_whatever_a_byte_is)
{
    const fenced all;
    for (const bytes& content : {section(with_frame), section(aligned)}) {
        for (std::size_t at = 0; at < content.size(); at++) {
            bytes damaged = content;
            for (unsigned value = 0; value < 256; value++) {
                damaged[at] = static_cast<unsigned char>(value);
                EXPECT_LT(all.rule(damaged, 0x20).top, EGB_CFI_TOPS);
                EXPECT_LT(all.rule(damaged, 0x20, false).top, EGB_CFI_TOPS);
            }
        }
        for (std::size_t kept = 1; kept < content.size(); kept++) {
            const bytes cut(content.begin(), content.begin() + static_cast<std::ptrdiff_t>(kept));
            EXPECT_LT(all.rule(cut, 0x20 + content.size() - kept).top, EGB_CFI_TOPS);
        }
    }
}

TEST(cfi, reads_nothing_outside_whatever_some_bytes_are)
{
    const fenced all;
    std::mt19937 chance(7);
    const bytes  content = section(with_frame + aligned);
    for (int round = 0; round < 100000; round++) {
        bytes damaged = content;
        for (int i = 0; i < 4; i++) {
            damaged[chance() % damaged.size()] = static_cast<unsigned char>(chance());
        }
        EXPECT_LT(all.rule(damaged, 0x20, round % 2 == 0).top, EGB_CFI_TOPS);
    }
}
