// SPDX-License-Identifier: MIT
// Moving in from xallocator and stl_allocator: first the unchanged program, with headers of the
// same names, then the same with the library's own calls.
#include "eggbox/allocator.hpp"
#include "eggbox/compat/xallocator.h"
#include "eggbox/compat/xlist.h"
#include "eggbox/compat/xstring.h"
#include "eggbox/pooled.hpp"

#include <cstdio>
#include <list>
#include <memory>
#include <string>

namespace
{

// Unchanged.
struct old_shape {
    XALLOCATOR
    int x = 1;
};

int as_it_was()
{
    const std::unique_ptr<old_shape> shape(new old_shape);
    char*                            text = static_cast<char*>(xmalloc(24));
    text                                  = static_cast<char*>(xrealloc(text, 124));
    std::snprintf(text, 124, "text");
    xfree(text);
    xlist<xstring> lines;
    lines.push_back("a line that is too long for the string itself");
    xalloc_stats();
    return shape->x;
}

// Now: one heap for all, or separate heaps, each with a budget and an end.
struct shape : eggbox::pooled<shape> {
    int x = 1;
};

using text = std::basic_string<char, std::char_traits<char>, eggbox::allocator<char>>;

int now()
{
    const std::unique_ptr<shape> one(new shape);
    char*                        bytes = static_cast<char*>(egb_malloc(24));
    bytes                              = static_cast<char*>(egb_realloc(bytes, 124));
    egb_free(bytes);
    eggbox::heap                             level;
    std::list<text, eggbox::allocator<text>> lines(level);
    lines.push_back("a line that is too long for the string itself");
    std::printf("level: %zu block in use\n", level.stats().in_use);
    return one->x;
}

}  // namespace

int main()
{
    return as_it_was() == now() ? 0 : 1;
}
