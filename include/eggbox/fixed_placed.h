// SPDX-License-Identifier: MIT
// Layer core: static fixed pools whose blocks lie where the program says: in memory for DMA, in
// tightly coupled memory, or in memory that the start of the program does not clear.
#ifndef EGGBOX_FIXED_PLACED_H
#define EGGBOX_FIXED_PLACED_H

#include "fixed.h"

/// Define a static pool as EGB_FIXED_DEFINE(), EGB_FIXED_DEFINE_MARKED() and
/// EGB_FIXED_DEFINE_UNCHECKED() do, with the blocks in the section `section` of the object file,
/// which is a string.
///
///     EGB_FIXED_DEFINE_MARKED_IN(".bss.dma", frames, struct frame, 8);
///
/// The linker script says where a section lies. Sections whose names begin with ".bss.", and with
/// gcc ".noinit" too, take no room in the program file; others are filled with zeros there.
///
/// The blocks need no initial value, because the pool reads no block before it has written it. The
/// pool object and its live bits do, and stay where other variables are. For a cache line of its
/// own, each block has the alignment of `type`.
///
/// For gcc and clang, and compilers that know their attribute `section`.
#define EGB_FIXED_DEFINE_IN(section, name, type, count)            \
    EGB_FIXED_DEFINE_AT_(EGB_SECTION_(section), name, type, count)
#define EGB_FIXED_DEFINE_MARKED_IN(section, name, type, count)            \
    EGB_FIXED_DEFINE_MARKED_AT_(EGB_SECTION_(section), name, type, count)
#define EGB_FIXED_DEFINE_UNCHECKED_IN(section, name, type, count)            \
    EGB_FIXED_DEFINE_UNCHECKED_AT_(EGB_SECTION_(section), name, type, count)

#define EGB_SECTION_(name) __attribute__((section(name)))

#endif  // EGGBOX_FIXED_PLACED_H
