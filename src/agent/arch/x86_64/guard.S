/* See guard.h. Written in assembler so that it is known which instructions may fault and what then holds. */

    .text
    .hidden guard_copy
    .globl guard_copy
    .type guard_copy, @function
guard_copy:
    .cfi_startproc
    endbr64
    mov %rdx, %rcx
.Lcopy_load:
    rep movsb /* after a fault, rcx tells how much is left */
.Lcopy_end:
    mov %rdx, %rax
    sub %rcx, %rax
    ret
    .cfi_endproc
    .size guard_copy, . - guard_copy

/* rdtsc between fences, to a register: nothing before it is still under way, nothing behind it has begun. rdtscp would
 * save a fence, but not every virtual machine has it. */
.macro counter register
    lfence
    rdtsc
    lfence
    shl $32, %rdx
    or %rdx, %rax
    mov %rax, \register
.endm

    .hidden guard_time
    .globl guard_time
    .type guard_time, @function
guard_time:
    .cfi_startproc
    endbr64
.Ltime_near:
    movzbl (%rdi), %eax
    mfence
    counter %r8
    counter %r9
    counter %r10
.Ltime_load:
    movzbl (%rsi), %eax
    counter %r11
    sub %r8, %r9  /* what measuring takes */
    sub %r10, %r11 /* what measuring and loading take */
    sub %r9, %r11
    xor %eax, %eax
    test %r11, %r11
    cmovns %r11, %rax
    ret
.Ltime_failed:
    mov $-1, %rax
    ret
    .cfi_endproc
    .size guard_time, . - guard_time

    .hidden guard_mend
    .globl guard_mend
    .type guard_mend, @function
guard_mend:
    .cfi_startproc
    endbr64
    lea .Lcopy_load(%rip), %rcx
    lea .Lcopy_end(%rip), %rax
    cmp %rcx, %rdi
    je 1f
    lea .Ltime_failed(%rip), %rax
    lea .Ltime_near(%rip), %rcx
    cmp %rcx, %rdi
    je 1f
    lea .Ltime_load(%rip), %rcx
    cmp %rcx, %rdi
    je 1f
    xor %eax, %eax
1:  ret
    .cfi_endproc
    .size guard_mend, . - guard_mend

    .hidden guard_call
    .globl guard_call
    .type guard_call, @function
guard_call:
    endbr64
    push %rbp
    mov %rsp, %rbp
    push %rbx
    push %r12
    push %r13
    push %r14
    push %r15
    push %rdi
    mov %rsp, (%rdi)
    mov %rdx, %rdi
    call *%rsi
    mov $1, %eax
1:  pop %rdi
    movq $0, (%rdi)
    pop %r15
    pop %r14
    pop %r13
    pop %r12
    pop %rbx
    pop %rbp
    ret
    .size guard_call, . - guard_call

    .hidden guard_landing
    .globl guard_landing
guard_landing:
    endbr64
    xor %eax, %eax
    jmp 1b

    .section .note.GNU-stack, "", @progbits
