/* See agent/signals/aside.h. */
    .text
    .p2align 4
    .globl aside_call
    .hidden aside_call
    .type aside_call, %function
aside_call:
    .cfi_startproc
    hint #34 /* bti c */
    stp x29, x30, [sp, #-16]!
    .cfi_adjust_cfa_offset 16
    .cfi_rel_offset x29, 0
    .cfi_rel_offset x30, 8
    mov x29, sp
    .cfi_def_cfa_register x29
    mov sp, x0
    mov x0, x2
    blr x1
    mov sp, x29
    ldp x29, x30, [sp], #16
    .cfi_def_cfa sp, 0
    .cfi_restore x29
    .cfi_restore x30
    ret
    .cfi_endproc
    .size aside_call, . - aside_call

    .section .note.GNU-stack, "", %progbits
