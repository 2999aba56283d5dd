/* isa/aarch64/linked_enter.S - the way into and out of translated blocks; see linked.h. x18 is the state. */
#define STATE_SP       248
#define STATE_NZCV     280
#define STATE_OWN_SP   288
#define STATE_VECTORS  296
#define STATE_SCALABLE 304

    .arch armv8.2-a+sve
    /* registers, then predicates, at x9 */
    .macro each_scalable instruction
    .irp number, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
    \instruction z\number, [x9, #\number, mul vl]
    .endr
    addvl x9, x9, #31
    addvl x9, x9, #1
    .irp number, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
    \instruction p\number, [x9, #\number, mul vl]
    .endr
    .endm

    /* at x9 */
    .macro each_vector instruction
    \instruction q0, q1, [x9, #16]
    \instruction q2, q3, [x9, #48]
    \instruction q4, q5, [x9, #80]
    \instruction q6, q7, [x9, #112]
    \instruction q8, q9, [x9, #144]
    \instruction q10, q11, [x9, #176]
    \instruction q12, q13, [x9, #208]
    \instruction q14, q15, [x9, #240]
    \instruction q16, q17, [x9, #272]
    \instruction q18, q19, [x9, #304]
    \instruction q20, q21, [x9, #336]
    \instruction q22, q23, [x9, #368]
    \instruction q24, q25, [x9, #400]
    \instruction q26, q27, [x9, #432]
    \instruction q28, q29, [x9, #464]
    \instruction q30, q31, [x9, #496]
    .endm

    /* in the state, but x16 to x18 */
    .macro each_register instruction
    \instruction x0, x1, [x18]
    \instruction x2, x3, [x18, #16]
    \instruction x4, x5, [x18, #32]
    \instruction x6, x7, [x18, #48]
    \instruction x8, x9, [x18, #64]
    \instruction x10, x11, [x18, #80]
    \instruction x12, x13, [x18, #96]
    \instruction x14, x15, [x18, #112]
    \instruction x19, x20, [x18, #152]
    \instruction x21, x22, [x18, #168]
    \instruction x23, x24, [x18, #184]
    \instruction x25, x26, [x18, #200]
    \instruction x27, x28, [x18, #216]
    \instruction x29, x30, [x18, #232]
    .endm

    /* what the caller wants back */
    .macro each_kept instruction
    \instruction x19, x20, [sp, #16]
    \instruction x21, x22, [sp, #32]
    \instruction x23, x24, [sp, #48]
    \instruction x25, x26, [sp, #64]
    \instruction x27, x28, [sp, #80]
    \instruction d8, d9, [sp, #96]
    \instruction d10, d11, [sp, #112]
    \instruction d12, d13, [sp, #128]
    \instruction d14, d15, [sp, #144]
    .endm

    .text
    .p2align 4
    .globl linked_enter
    .hidden linked_enter
    .type linked_enter, %function
linked_enter:
    hint #34 /* bti c */
    stp x29, x30, [sp, #-176]!
    mov x29, sp
    each_kept stp
    mrs x9, fpcr
    stp x9, x18, [sp, #160]
    mov x9, sp
    str x9, [x0, #STATE_OWN_SP]
    mov x18, x0
    mov x17, x1
    ldr x9, [x18, #STATE_VECTORS]
    ldp w10, w11, [x9, #8] /* struct fpsimd_context */
    msr fpsr, x10
    msr fpcr, x11
    each_vector ldp
    ldr x9, [x18, #STATE_SCALABLE]
    cbz x9, 1f
    each_scalable ldr
1:  ldr x9, [x18, #STATE_NZCV]
    msr nzcv, x9
    ldr x9, [x18, #STATE_SP]
    mov sp, x9
    ldr x16, [x18, #128]
    each_register ldp
    br x17 /* the entry for indirect branches loads x17 */
    .size linked_enter, . - linked_enter

    /* x16 and x17 are in the state already */
    .globl linked_leave
    .hidden linked_leave
linked_leave:
    hint #36 /* bti j */
    each_register stp
    mrs x9, nzcv
    str x9, [x18, #STATE_NZCV]
    mov x9, sp
    str x9, [x18, #STATE_SP]

    .globl linked_leave_vectors
    .hidden linked_leave_vectors
linked_leave_vectors:
    hint #36 /* bti j */
    ldr x9, [x18, #STATE_VECTORS]
    mrs x10, fpsr
    mrs x11, fpcr
    stp w10, w11, [x9, #8]
    each_vector stp
    ldr x9, [x18, #STATE_SCALABLE]
    cbz x9, 2f
    each_scalable str
2:  ldr x9, [x18, #STATE_OWN_SP]
    mov sp, x9
    ldp x9, x18, [sp, #160]
    msr fpcr, x9
    each_kept ldp
    ldp x29, x30, [sp], #176
    ret

    .section .note.GNU-stack, "", %progbits
