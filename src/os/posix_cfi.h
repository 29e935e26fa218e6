// SPDX-License-Identifier: MIT
// Layer os: reads from the call-frame information of a program or library how one of its calls
// leads to the call around it. Sources: DWARF 5, 6.4; the System V ABI for x86-64, 3.6.2 and 4.2.4;
// the Linux Standard Base, 10.6, for .eh_frame and .eh_frame_hdr.
//
// Only for x86-64. Nothing is called, allocated or written; no byte outside the part of the module
// that has the header is read, whatever the information says.
#ifndef EGGBOX_SRC_OS_POSIX_CFI_H
#define EGGBOX_SRC_OS_POSIX_CFI_H

#include "eggbox/base.h"

// The place of the top of the next call: the stack pointer behind its return.
typedef enum egb_cfi_top {
    EGB_CFI_OTHER,       // only the unwinder can tell
    EGB_CFI_NONE,        // no function has the address
    EGB_CFI_LAST,        // no call is around this one
    EGB_CFI_BY_STACK,    // the offset is from the top of this call
    EGB_CFI_BY_FRAME,    // from the frame pointer
    EGB_CFI_BY_POINTER,  // the word at the offset from the frame pointer is the next top
    EGB_CFI_TOPS
} egb_cfi_top;

// The place of the frame pointer (rbp) of the next call.
typedef enum egb_cfi_frame {
    EGB_CFI_KEPT,         // as in this call
    EGB_CFI_BELOW_TOP,    // in the word at the offset from the next top
    EGB_CFI_BEHIND_FRAME  // in the word at the offset from the frame pointer
} egb_cfi_frame;

// The return address of the next call is the word below its top.
typedef struct egb_cfi_rule {
    egb_cfi_top   top;
    egb_cfi_frame frame;
    int32_t       top_offset;  // multiples of 8, below 1 MiB
    int32_t       frame_offset;
} egb_cfi_rule;

#define EGB_CFI_OFFSET_MAX (1 << 20)

// The part of a program or library in memory that has its .eh_frame_hdr, and that. No header: NULL.
typedef struct egb_cfi_module {
    const unsigned char* from;
    const unsigned char* to;
    const unsigned char* header;
} egb_cfi_module;

// The rule at a return address in the module. O(log n) of its functions.
egb_cfi_rule egb_cfi_rule_(const egb_cfi_module* module, uintptr_t address);

#endif  // EGGBOX_SRC_OS_POSIX_CFI_H
