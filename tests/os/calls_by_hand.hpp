// SPDX-License-Identifier: MIT
// Functions in the assembler of x86-64 whose frames no compiler is sure to make, for the walk of
// stacks. One file includes them.
#ifndef EGGBOX_TESTS_OS_CALLS_BY_HAND_HPP
#define EGGBOX_TESTS_OS_CALLS_BY_HAND_HPP

#include <cstddef>

using callee = int (*)();

// A function that saves rbx and takes room, with information by hand.
extern "C" int egb_test_by_hand(callee call);
__asm__(".text\n"
        ".type egb_test_by_hand, @function\n"
        "egb_test_by_hand:\n"
        ".cfi_startproc\n"
        "  pushq %rbx\n"
        ".cfi_adjust_cfa_offset 8\n"
        ".cfi_rel_offset %rbx, 0\n"
        "  subq $48, %rsp\n"
        ".cfi_adjust_cfa_offset 48\n"
        "  call *%rdi\n"
        "  addq $48, %rsp\n"
        ".cfi_adjust_cfa_offset -48\n"
        "  popq %rbx\n"
        ".cfi_adjust_cfa_offset -8\n"
        ".cfi_restore %rbx\n"
        "  ret\n"
        ".cfi_endproc\n"
        ".size egb_test_by_hand, . - egb_test_by_hand\n");

// The frame pointer holds something else meanwhile, and where the frame is saved is told.
extern "C" int egb_test_without_frame(callee call);
__asm__(".text\n"
        ".type egb_test_without_frame, @function\n"
        "egb_test_without_frame:\n"
        ".cfi_startproc\n"
        "  subq $24, %rsp\n"
        ".cfi_adjust_cfa_offset 24\n"
        "  movq %rbp, 8(%rsp)\n"
        ".cfi_offset %rbp, -24\n"
        "  movq $1, %rbp\n"
        "  call *%rdi\n"
        "  movq 8(%rsp), %rbp\n"
        ".cfi_restore %rbp\n"
        "  addq $24, %rsp\n"
        ".cfi_adjust_cfa_offset -24\n"
        "  ret\n"
        ".cfi_endproc\n"
        ".size egb_test_without_frame, . - egb_test_without_frame\n");

// Three functions with frame pointers. The outer one takes `outer` bytes and calls the middle one
// from one of two places. That takes `inner` bytes and calls the inner one, which calls `call`.
extern "C" void
egb_test_outer(callee call, std::size_t outer, std::size_t inner, bool is_second_place);
__asm__(".text\n"
        ".type egb_test_outer, @function\n"
        "egb_test_outer:\n"
        ".cfi_startproc\n"
        "  pushq %rbp\n"
        ".cfi_def_cfa_offset 16\n"
        ".cfi_offset %rbp, -16\n"
        "  movq %rsp, %rbp\n"
        ".cfi_def_cfa_register %rbp\n"
        "  subq %rsi, %rsp\n"
        "  testl %ecx, %ecx\n"
        "  jne 1f\n"
        "  call egb_test_middle\n"
        "  jmp 2f\n"
        "1:call egb_test_middle\n"
        "2:\n"
        "  leave\n"
        ".cfi_def_cfa %rsp, 8\n"
        "  ret\n"
        ".cfi_endproc\n"
        ".size egb_test_outer, . - egb_test_outer\n"
        ".type egb_test_middle, @function\n"
        "egb_test_middle:\n"
        ".cfi_startproc\n"
        "  pushq %rbp\n"
        ".cfi_def_cfa_offset 16\n"
        ".cfi_offset %rbp, -16\n"
        "  movq %rsp, %rbp\n"
        ".cfi_def_cfa_register %rbp\n"
        "  subq %rdx, %rsp\n"
        "  call egb_test_inner\n"
        "  leave\n"
        ".cfi_def_cfa %rsp, 8\n"
        "  ret\n"
        ".cfi_endproc\n"
        ".size egb_test_middle, . - egb_test_middle\n"
        ".type egb_test_inner, @function\n"
        "egb_test_inner:\n"
        ".cfi_startproc\n"
        "  pushq %rbp\n"
        ".cfi_def_cfa_offset 16\n"
        ".cfi_offset %rbp, -16\n"
        "  movq %rsp, %rbp\n"
        ".cfi_def_cfa_register %rbp\n"
        "  call *%rdi\n"
        "  leave\n"
        ".cfi_def_cfa %rsp, 8\n"
        "  ret\n"
        ".cfi_endproc\n"
        ".size egb_test_inner, . - egb_test_inner\n");

// Calls on a stack that ends with the return address 0, from its `end` down.
extern "C" void egb_test_on_stack(void* end, callee call);
__asm__(".text\n"
        ".type egb_test_on_stack, @function\n"
        "egb_test_on_stack:\n"
        "  pushq %rbx\n"
        "  movq %rsp, %rbx\n"
        "  movq %rdi, %rsp\n"
        "  pushq %rbx\n"
        "  pushq $0\n"
        "  call egb_test_outermost\n"
        "  addq $8, %rsp\n"
        "  popq %rsp\n"
        "  popq %rbx\n"
        "  ret\n"
        ".size egb_test_on_stack, . - egb_test_on_stack\n"
        ".type egb_test_outermost, @function\n"
        "egb_test_outermost:\n"
        ".cfi_startproc\n"
        ".cfi_def_cfa_offset 16\n"  // as if it had been called from where the 0 is
        "  subq $8, %rsp\n"
        ".cfi_adjust_cfa_offset 8\n"
        "  call *%rsi\n"
        "  addq $8, %rsp\n"
        ".cfi_adjust_cfa_offset -8\n"
        "  ret\n"
        ".cfi_endproc\n"
        ".size egb_test_outermost, . - egb_test_outermost\n");

// Writes below `low`, with the stack pointer there.
extern "C" void egb_test_overflow(void* low);
__asm__(".text\n"
        ".type egb_test_overflow, @function\n"
        "egb_test_overflow:\n"
        ".cfi_startproc\n"
        "  pushq %rbp\n"
        ".cfi_def_cfa_offset 16\n"
        ".cfi_offset %rbp, -16\n"
        "  movq %rsp, %rbp\n"
        ".cfi_def_cfa_register %rbp\n"
        "  movq %rdi, %rsp\n"
        "  pushq %rax\n"
        "  movq %rbp, %rsp\n"
        "  popq %rbp\n"
        ".cfi_def_cfa %rsp, 8\n"
        "  ret\n"
        ".cfi_endproc\n"
        ".size egb_test_overflow, . - egb_test_overflow\n");

// Returns from a signal handler, as the C library's code does, but without information.
extern "C" void egb_test_restorer();
__asm__(".text\n"
        "  nop\n"
        "  nop\n"
        ".type egb_test_restorer, @function\n"
        "egb_test_restorer:\n"
        "  movq $15, %rax\n"
        "  syscall\n"
        ".size egb_test_restorer, . - egb_test_restorer\n");

#endif  // EGGBOX_TESTS_OS_CALLS_BY_HAND_HPP
