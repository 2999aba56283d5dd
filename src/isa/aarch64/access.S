/* The accesses on the program's behalf; see access.h. Between access_begin and access_end every function is a leaf
 * that keeps its return address in x30 and has not touched the stack: a fault is handled by "return 1". */

    .arch armv8-a+lse
    .text
    .p2align 4

    .macro function name
    .globl \name
    .hidden \name
    .type \name, %function
\name:
    hint #34 /* bti c */
    .endm

    .macro finish name
    mov w0, #0
    ret
    .size \name, . - \name
    .endm

    .macro load_one name, instruction, register
    function \name
    \instruction \register, [x0]
    str x2, [x1]
    finish \name
    .endm

    .macro store_one name, instruction, register
    function \name
    ldr x2, [x1]
    \instruction \register, [x0]
    finish \name
    .endm

    .globl access_begin, access_end
    .hidden access_begin, access_end
access_begin:
    load_one access_load1, ldrb, w2
    load_one access_load2, ldrh, w2
    load_one access_load4, ldr, w2
    load_one access_load8, ldr, x2
    load_one access_acquire1, ldarb, w2
    load_one access_acquire2, ldarh, w2
    load_one access_acquire4, ldar, w2
    load_one access_acquire8, ldar, x2
    store_one access_store1, strb, w2
    store_one access_store2, strh, w2
    store_one access_store4, str, w2
    store_one access_store8, str, x2
    store_one access_release1, stlrb, w2
    store_one access_release2, stlrh, w2
    store_one access_release4, stlr, w2
    store_one access_release8, stlr, x2

    function access_load16
    ldr q0, [x0]
    str q0, [x1]
    finish access_load16

    function access_store16
    ldr q0, [x1]
    str q0, [x0]
    finish access_store16

    function access_load_pair4
    ldp w2, w3, [x0]
    stp x2, x3, [x1]
    finish access_load_pair4

    function access_load_pair8
    ldp x2, x3, [x0]
    stp x2, x3, [x1]
    finish access_load_pair8

    function access_load_pair16
    ldp q0, q1, [x0]
    stp q0, q1, [x1]
    finish access_load_pair16

    function access_store_pair4
    ldp x2, x3, [x1]
    stp w2, w3, [x0]
    finish access_store_pair4

    function access_store_pair8
    ldp x2, x3, [x1]
    stp x2, x3, [x0]
    finish access_store_pair8

    function access_store_pair16
    ldp q0, q1, [x1]
    stp q0, q1, [x0]
    finish access_store_pair16

    function access_zero_block
    dc zva, x0
    finish access_zero_block

    /* The counter may be read early; isb keeps it in its place, and a read that depends on the loaded value comes
     * after the load: the value is folded into the second isb's way by dsb, which waits for the load. The empty pass
     * goes through the same instructions but for the load. */
    function access_probe
    ldrb w3, [x1]
    dsb ish
    isb
    mrs x4, cntvct_el0
    isb
    dsb ish
    isb
    mrs x5, cntvct_el0
    sub x5, x5, x4
    isb
    mrs x4, cntvct_el0
    isb
    ldrb w3, [x0]
    dsb ish
    isb
    mrs x6, cntvct_el0
    sub x6, x6, x4
    stp x6, x5, [x2]
    finish access_probe
access_end:

    /* The slot's instruction sees x0 to x5, the flags, FPSR and the vector registers of the state; x30 brings it back
     * here. A fault inside it is sent to slot_faulted with sp and x29 as they were. */
    function slot_run
    stp x29, x30, [sp, #-96]!
    mov x29, sp
    str x1, [sp, #16]
    mov x16, x0
    mov x17, x1
    ldr x9, [x17, #64]
    cbz x9, 1f
    stp d8, d9, [sp, #32]
    stp d10, d11, [sp, #48]
    stp d12, d13, [sp, #64]
    stp d14, d15, [sp, #80]
    ldp q0, q1, [x9]
    ldp q2, q3, [x9, #32]
    ldp q4, q5, [x9, #64]
    ldp q6, q7, [x9, #96]
    ldp q8, q9, [x9, #128]
    ldp q10, q11, [x9, #160]
    ldp q12, q13, [x9, #192]
    ldp q14, q15, [x9, #224]
    ldp q16, q17, [x9, #256]
    ldp q18, q19, [x9, #288]
    ldp q20, q21, [x9, #320]
    ldp q22, q23, [x9, #352]
    ldp q24, q25, [x9, #384]
    ldp q26, q27, [x9, #416]
    ldp q28, q29, [x9, #448]
    ldp q30, q31, [x9, #480]
    ldr x10, [x17, #56]
    msr fpsr, x10
1:  ldr x10, [x17, #48]
    msr nzcv, x10
    ldp x4, x5, [x17, #32]
    ldp x2, x3, [x17, #16]
    ldp x0, x1, [x17]
    blr x16
    ldr x17, [sp, #16]
    stp x0, x1, [x17]
    stp x2, x3, [x17, #16]
    stp x4, x5, [x17, #32]
    mrs x10, nzcv
    str x10, [x17, #48]
    ldr x9, [x17, #64]
    cbz x9, 2f
    mrs x10, fpsr
    str x10, [x17, #56]
    stp q0, q1, [x9]
    stp q2, q3, [x9, #32]
    stp q4, q5, [x9, #64]
    stp q6, q7, [x9, #96]
    stp q8, q9, [x9, #128]
    stp q10, q11, [x9, #160]
    stp q12, q13, [x9, #192]
    stp q14, q15, [x9, #224]
    stp q16, q17, [x9, #256]
    stp q18, q19, [x9, #288]
    stp q20, q21, [x9, #320]
    stp q22, q23, [x9, #352]
    stp q24, q25, [x9, #384]
    stp q26, q27, [x9, #416]
    stp q28, q29, [x9, #448]
    stp q30, q31, [x9, #480]
    ldp d8, d9, [sp, #32]
    ldp d10, d11, [sp, #48]
    ldp d12, d13, [sp, #64]
    ldp d14, d15, [sp, #80]
2:  ldp x29, x30, [sp], #96
    finish slot_run

    .globl slot_faulted
    .hidden slot_faulted
slot_faulted:
    hint #36 /* bti j */
    ldr x17, [sp, #16]
    ldr x9, [x17, #64]
    cbz x9, 3f
    ldp d8, d9, [sp, #32]
    ldp d10, d11, [sp, #48]
    ldp d12, d13, [sp, #64]
    ldp d14, d15, [sp, #80]
3:  ldp x29, x30, [sp], #96
    mov w0, #1
    ret

    .section .note.GNU-stack, "", %progbits
