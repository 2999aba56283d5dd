/* agent/custom/aarch64/custom.S - into the agent from a hooked function's entry, and from its return.
 *
 * Every register but x16 and x17 is left as it is, not only those that the procedure call standard asks for: within one
 * file a caller may know what a static function does not touch. */

#define CALL      0   /* struct custom_call: x0-x7, then ra, fp, cfa */
#define CALL_RA   64
#define CALL_FP   72
#define CALL_CFA  80
#define GENERAL   96  /* x8-x15, x18, x17 */
#define LINK      176 /* x29, x30 */
#define VECTORS   192 /* q0-q7, q16-q31 */
#define FRAME     576

#define ENTRY_RA    0
#define ENTRY_SAVED 8

    .macro save_vectors op
    \op q0, q1, [sp, #VECTORS]
    \op q2, q3, [sp, #VECTORS + 32]
    \op q4, q5, [sp, #VECTORS + 64]
    \op q6, q7, [sp, #VECTORS + 96]
    \op q16, q17, [sp, #VECTORS + 128]
    \op q18, q19, [sp, #VECTORS + 160]
    \op q20, q21, [sp, #VECTORS + 192]
    \op q22, q23, [sp, #VECTORS + 224]
    \op q24, q25, [sp, #VECTORS + 256]
    \op q26, q27, [sp, #VECTORS + 288]
    \op q28, q29, [sp, #VECTORS + 320]
    \op q30, q31, [sp, #VECTORS + 352]
    .endm

    .macro save_general op
    \op x0, x1, [sp, #CALL]
    \op x2, x3, [sp, #CALL + 16]
    \op x4, x5, [sp, #CALL + 32]
    \op x6, x7, [sp, #CALL + 48]
    \op x8, x9, [sp, #GENERAL]
    \op x10, x11, [sp, #GENERAL + 16]
    \op x12, x13, [sp, #GENERAL + 32]
    \op x14, x15, [sp, #GENERAL + 48]
    .endm

    .text
    .p2align 4
    .globl custom_entered
    .hidden custom_entered
    .type custom_entered, %function
custom_entered: /* x17: the hook */
    .cfi_startproc
    hint #34 /* bti c */
    sub sp, sp, #FRAME
    .cfi_adjust_cfa_offset FRAME
    stp x29, x30, [sp, #LINK]
    .cfi_rel_offset x29, LINK
    .cfi_rel_offset x30, LINK + 8
    save_general stp
    stp x18, x17, [sp, #GENERAL + 64]
    save_vectors stp
    add x16, sp, #FRAME
    stp x30, x29, [sp, #CALL_RA]
    str x16, [sp, #CALL_CFA]
    mov x0, x17
    add x1, sp, #CALL
    add x29, sp, #LINK
    bl custom_enter
    mov x16, x0
    save_vectors ldp
    save_general ldp
    ldp x18, x17, [sp, #GENERAL + 64]
    ldp x29, x30, [sp, #LINK]
    .cfi_restore x29
    .cfi_restore x30
    add sp, sp, #FRAME
    .cfi_adjust_cfa_offset -FRAME
    ldr x17, [x17] /* resume */
    cbz x16, 1f
    str x19, [x16, #ENTRY_SAVED]
    mov x19, x16
    adrp x30, custom_return
    add x30, x30, :lo12:custom_return
1:  br x17
    .cfi_endproc
    .size custom_entered, . - custom_entered

/* A function that ends in a jump to another calls that with this return address. */
    .p2align 4
    .type custom_return, %function
    .cfi_startproc
    .cfi_personality 0x9b, DW.ref.custom_personality
    .cfi_escape 0x10, 30, 2, 0x83, ENTRY_RA    /* x30 is stored at x19 + ENTRY_RA */
    .cfi_escape 0x10, 19, 2, 0x83, ENTRY_SAVED /* x19 at x19 + ENTRY_SAVED */
    nop /* unwinders look before a return address */
    .globl custom_return
    .hidden custom_return
custom_return:
    sub sp, sp, #FRAME
    .cfi_adjust_cfa_offset FRAME
    save_general stp
    str x18, [sp, #GENERAL + 64]
    save_vectors stp
    ldp x16, x17, [x19, #ENTRY_RA]
    stp x16, x17, [sp, #LINK]
    mov x1, x0
    mov x0, x19
    mov x2, x29
    bl custom_leave
    save_vectors ldp
    save_general ldp
    ldr x18, [sp, #GENERAL + 64]
    ldp x30, x19, [sp, #LINK]
    .cfi_restore x30
    .cfi_restore x19
    add sp, sp, #FRAME
    .cfi_adjust_cfa_offset -FRAME
    ret
    .cfi_endproc
    .size custom_return, . - custom_return

    .hidden DW.ref.custom_personality
    .weak DW.ref.custom_personality
    .section .data.rel.local.DW.ref.custom_personality, "awG", %progbits, DW.ref.custom_personality, comdat
    .p2align 3
    .type DW.ref.custom_personality, %object
    .size DW.ref.custom_personality, 8
DW.ref.custom_personality:
    .xword custom_personality

    .section .note.GNU-stack, "", %progbits
