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

    .globl guard_call
    .hidden guard_call
    .type guard_call, %function
guard_call:
    hint #34 /* bti c */
    stp x29, x30, [sp, #-112]!
    mov x29, sp
    stp x19, x20, [sp, #16]
    stp x21, x22, [sp, #32]
    stp x23, x24, [sp, #48]
    stp x25, x26, [sp, #64]
    stp x27, x28, [sp, #80]
    str x0, [sp, #96]
    mov x9, sp
    str x9, [x0]
    mov x0, x2
    blr x1
    mov w0, #1
1:  ldr x9, [sp, #96]
    str xzr, [x9]
    ldp x19, x20, [sp, #16]
    ldp x21, x22, [sp, #32]
    ldp x23, x24, [sp, #48]
    ldp x25, x26, [sp, #64]
    ldp x27, x28, [sp, #80]
    ldp x29, x30, [sp], #112
    ret
    .size guard_call, . - guard_call

    .globl guard_landing
    .hidden guard_landing
guard_landing:
    hint #36 /* bti j */
    mov w0, #0
    b 1b

    .section .note.GNU-stack, "", %progbits
