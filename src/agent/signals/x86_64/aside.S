/* See agent/signals/aside.h. */
    .text
    .p2align 4
    .globl aside_call
    .hidden aside_call
    .type aside_call, @function
aside_call:
    .cfi_startproc
    endbr64
    push %rbp
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset rbp, 0
    mov %rsp, %rbp
    .cfi_def_cfa_register rbp
    mov %rdi, %rsp
    mov %rdx, %rdi
    call *%rsi
    mov %rbp, %rsp
    pop %rbp
    .cfi_def_cfa rsp, 8
    .cfi_restore rbp
    ret
    .cfi_endproc
    .size aside_call, . - aside_call

    .section .note.GNU-stack, "", @progbits
