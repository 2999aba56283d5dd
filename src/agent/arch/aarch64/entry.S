/* See entry.h. */
    .text
    .p2align 4
    .globl step_return
    .hidden step_return
    .type step_return, %function
step_return:
    .cfi_startproc
    .cfi_undefined x30
    hint #34 /* bti c */
    mov sp, x0
    mov x19, x0
    mov x29, #0
    mov x0, x1
    mov x1, x2
    blr x3
    mov sp, x19
    mov x8, #139 /* rt_sigreturn */
    svc #0
    .cfi_endproc
    .size step_return, . - step_return
    .section .note.GNU-stack, "", %progbits
