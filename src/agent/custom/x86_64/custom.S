/* agent/custom/x86_64/custom.S - into the agent from a hooked function's entry, and from its return.
 *
 * Every register is left as it is, not only those that the calling convention asks for: within one file a caller may
 * know what a static function does not touch. Jumps go through the red zone, which signals spare, and not by ret: the
 * processor's guesses of return addresses stay right. */

#define ENTRY_RA    0
#define ENTRY_SAVED 8

/* Below rbp. struct custom_call is six registers, two arguments of the stack, ra, fp, cfa. */
#define CALL     -96
#define CALL_RA  (CALL + 64)
#define CALL_FP  (CALL + 72)
#define CALL_CFA (CALL + 80)
#define RAX      -104
#define R10      -112
#define R11      -120
#define ENTRY    -128
#define TARGET   -136
#define FRAME    160
#define VECTORS  2752 /* an XSAVE image up to the upper sixteen ZMM registers, which end at 2688 */
#define HEADER   512  /* in that image; its first 16 bytes are written, the others must be zero */

    .macro vectors_move op, width, to_memory
    .set number, 0
    .irp reg, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
    .if \to_memory
    \op %\width\reg, number(%rsp)
    .else
    \op number(%rsp), %\width\reg
    .endif
    .set number, number + 32
    .endr
    .endm

/* Where registers are wider than YMM, a move to those would clear their upper halves, and libc's functions use the upper
 * sixteen: then all of them are saved and restored by one instruction. Changes rax and rdx. */
    .macro vectors_all to_memory
    movl custom_wide(%rip), %eax
    testl %eax, %eax
    jne 7f
    cmpb $0, custom_has_avx(%rip)
    je 8f
    vectors_move vmovups, ymm, \to_memory
    jmp 9f
7:  xorl %edx, %edx
    .if \to_memory
    .irp word, 0, 8, 16, 24, 32, 40, 48, 56
    movq %rdx, HEADER + \word(%rsp)
    .endr
    xsave64 (%rsp)
    .else
    xrstor64 (%rsp)
    .endif
    jmp 9f
8:  vectors_move movups, xmm, \to_memory
9:
    .endm

    .macro save_general
    movq %rdi, CALL(%rbp)
    movq %rsi, CALL + 8(%rbp)
    movq %rdx, CALL + 16(%rbp)
    movq %rcx, CALL + 24(%rbp)
    movq %r8, CALL + 32(%rbp)
    movq %r9, CALL + 40(%rbp)
    movq %rax, RAX(%rbp)
    movq %r10, R10(%rbp)
    movq %r11, R11(%rbp)
    .endm

    .macro restore_general
    movq CALL(%rbp), %rdi
    movq CALL + 8(%rbp), %rsi
    movq CALL + 16(%rbp), %rdx
    movq CALL + 24(%rbp), %rcx
    movq CALL + 32(%rbp), %r8
    movq CALL + 40(%rbp), %r9
    movq RAX(%rbp), %rax
    movq R10(%rbp), %r10
    movq R11(%rbp), %r11
    .endm

    .macro frame_open
    pushq %rbp
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset rbp, 0
    movq %rsp, %rbp
    .cfi_def_cfa_register rbp
    subq $(FRAME + VECTORS), %rsp
    andq $-64, %rsp
    save_general
    vectors_all 1
    .endm

/* `above`: what is on the stack beneath the saved rbp, in bytes; the lowest is the address to go to. */
    .macro frame_close above
    restore_general
    movq %rbp, %rsp
    popq %rbp
    .cfi_def_cfa rsp, \above
    .cfi_restore rbp
    leaq 8(%rsp), %rsp
    .cfi_adjust_cfa_offset -8
    jmp *-8(%rsp)
    .cfi_endproc
    .endm

    .bss
    .globl custom_has_avx
    .hidden custom_has_avx
    .type custom_has_avx, @object
    .size custom_has_avx, 1
custom_has_avx:
    .zero 1
    .globl custom_wide
    .hidden custom_wide
    .type custom_wide, @object
    .size custom_wide, 4
    .p2align 2
custom_wide: /* the components to save, as XSAVE numbers them; 0: none is wider than YMM */
    .zero 4

    .text
    .p2align 4
    .globl custom_entered
    .hidden custom_entered
    .type custom_entered, @function
custom_entered: /* on the stack: the hook, then the return address */
    .cfi_startproc
    .cfi_def_cfa_offset 16
    frame_open
    movq 16(%rbp), %rax
    movq %rax, CALL_RA(%rbp)
    movq (%rbp), %rax
    movq %rax, CALL_FP(%rbp)
    leaq 24(%rbp), %rax
    movq %rax, CALL_CFA(%rbp)
    movq 8(%rbp), %rdi
    leaq CALL(%rbp), %rsi
    call custom_enter
    movq 8(%rbp), %rcx
    movq (%rcx), %rcx /* resume */
    movq %rcx, 8(%rbp)
    testq %rax, %rax
    je 1f
    movq %rbx, ENTRY_SAVED(%rax)
    movq %rax, %rbx
    leaq custom_return(%rip), %rcx
    movq %rcx, 16(%rbp)
1:  vectors_all 0
    frame_close 16
    .size custom_entered, . - custom_entered

/* A function that ends in a jump to another calls that with this return address. */
    .p2align 4
    .type custom_return, @function
    .cfi_startproc
    .cfi_personality 0x9b, DW.ref.custom_personality
    .cfi_def_cfa rsp, 0
    .cfi_escape 0x10, 16, 2, 0x73, ENTRY_RA   /* rip is stored at rbx + ENTRY_RA */
    .cfi_escape 0x10, 3, 2, 0x73, ENTRY_SAVED /* rbx at rbx + ENTRY_SAVED */
    nop /* unwinders look before a return address */
    .globl custom_return
    .hidden custom_return
custom_return:
    leaq -8(%rsp), %rsp /* where the return address was; the one to go to will be */
    .cfi_adjust_cfa_offset 8
    frame_open
    movq ENTRY_RA(%rbx), %rcx
    movq %rcx, TARGET(%rbp)
    movq ENTRY_SAVED(%rbx), %rcx
    movq %rcx, ENTRY(%rbp)
    movq %rbx, %rdi
    movq RAX(%rbp), %rsi
    movq (%rbp), %rdx
    call custom_leave
    movq TARGET(%rbp), %rcx
    movq %rcx, 8(%rbp)
    vectors_all 0
    movq ENTRY(%rbp), %rbx
    .cfi_restore rbx
    .cfi_offset rip, -8
    frame_close 8
    .size custom_return, . - custom_return

    .hidden DW.ref.custom_personality
    .weak DW.ref.custom_personality
    .section .data.rel.local.DW.ref.custom_personality, "awG", @progbits, DW.ref.custom_personality, comdat
    .p2align 3
    .type DW.ref.custom_personality, @object
    .size DW.ref.custom_personality, 8
DW.ref.custom_personality:
    .quad custom_personality

    .section .note.GNU-stack, "", @progbits
