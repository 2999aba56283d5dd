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
    rep movsb /* after a fault, rcx says how much is left */
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

    .hidden guard_resume
    .globl guard_resume
    .type guard_resume, @function
guard_resume:
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
    lea .Lload_done(%rip), %rcx
    lea .Lfalse(%rip), %rax
    cmp %rcx, %rdi
    je 1f
    lea .Lstore_done(%rip), %rcx
    cmp %rcx, %rdi
    je 1f
    lea .Lequal_begin(%rip), %rcx
    lea .Lequal_end(%rip), %rdx
    cmp %rcx, %rdi
    jb 2f
    cmp %rdx, %rdi
    jb 1f
2:  xor %eax, %eax
1:  ret
    .cfi_endproc
    .size guard_resume, . - guard_resume

.macro function name
    .hidden \name
    .globl \name
    .type \name, @function
    .p2align 4
\name:
    .cfi_startproc
    endbr64
.endm
.macro end name
    .cfi_endproc
    .size \name, . - \name
.endm

    function guard_load
.Lload_done:
    mov (%rdi), %rax
    mov %rax, (%rsi)
    mov $1, %eax
    ret
.Lfalse:
    xor %eax, %eax
    ret
    end guard_load

    function guard_store
.Lstore_done:
    mov %rsi, (%rdi)
    mov $1, %eax
    ret
    end guard_store

    function guard_equal
.Lequal_begin:
    cmp $8, %rdx
    jb 3f
1:  mov (%rdi), %rax
    cmp (%rsi), %rax
    jne .Lequal_end
    add $8, %rdi
    add $8, %rsi
    sub $8, %rdx
    cmp $8, %rdx
    jae 1b
    test %rdx, %rdx
    jz 2f
    mov -8(%rdi,%rdx), %rax /* the rest, with some bytes once more */
    cmp -8(%rsi,%rdx), %rax
    jne .Lequal_end
2:  mov $1, %eax
    ret
3:  test %rdx, %rdx
    jz 2b
    movzbl -1(%rdi,%rdx), %eax
    cmp -1(%rsi,%rdx), %al
    jne .Lequal_end
    dec %rdx
    jmp 3b
.Lequal_end:
    xor %eax, %eax
    ret
    end guard_equal

    function guard_serialize
    mov %rsp, %rax
    mov %ss, %ecx
    push %rcx
    push %rax
    pushfq
    mov %cs, %ecx
    push %rcx
    lea 1f(%rip), %rcx
    push %rcx
    iretq
1:  ret
    end guard_serialize

    function step_return
    .cfi_undefined rip
    mov %rdi, %rbx
    lea -256(%rdi), %rsp
    xor %ebp, %ebp
    mov %rsi, %rdi
    mov %rbx, %rsi
    call *%rdx
    mov %rbx, %rsp
    mov $15, %eax /* rt_sigreturn */
    syscall
    hlt
    end step_return

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
