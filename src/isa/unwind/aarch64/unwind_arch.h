/* isa/unwind/aarch64/unwind_arch.h - see isa/unwind/unwind_arch.h.
 *
 * Packed frame rule: bit 2 CFA from the frame pointer instead of the stack pointer, bits 3-15 place of the return
 * address above that register / 8, bit 16 return address signed, bit 17 frame pointer stored right below the return
 * address (the frame record of the procedure call standard), bit 18 return address in the link register, bits 19-31 CFA
 * offset / 8. So on the way from a rule to the next address there is one mask and one load. */
#pragma once

#include <stddef.h>
#include <ucontext.h>

enum {
    UNWIND_REG_SP = 31,
    UNWIND_REG_FP = 29,
    UNWIND_REG_RA = 30,
    UNWIND_REG_RA_IS_PC = false,
    UNWIND_FP_GIVES_SP = false,
    UNWIND_CODE_SHIFT = 2,
    UNWIND_PACKED_LIMIT = 8191 * 8,
};

static inline uint32_t unwind_arch_pack(const struct unwind_rule *rule)
{
    bool in_lr = rule->ra == UNWIND_SAME;
    int64_t cfa = rule->cfa_offset, ra = in_lr ? 0 : cfa + rule->ra_offset;
    if (rule->cfa == UNWIND_CFA_AT_FP || cfa < 0 || cfa > UNWIND_PACKED_LIMIT || cfa & 7)
        return 0;
    if (ra < 0 || ra > UNWIND_PACKED_LIMIT || ra & 7 || (in_lr && rule->fp != UNWIND_SAME))
        return 0;
    if (rule->fp != UNWIND_SAME && (rule->fp != UNWIND_AT_CFA || rule->fp_offset != rule->ra_offset - 8 || ra == 0))
        return 0;
    return UNWIND_PACKED_FRAME | (uint32_t)(rule->cfa == UNWIND_CFA_FP) << 2 | (uint32_t)ra |
           (uint32_t)(rule->is_signed != 0) << 16 | (uint32_t)(rule->fp != UNWIND_SAME) << 17 | (uint32_t)in_lr << 18 |
           (uint32_t)cfa << 16;
}

static inline bool unwind_packed_from_fp(uint32_t packed)
{
    return packed & 1 << 2;
}

static inline uint64_t unwind_packed_cfa(uint32_t packed)
{
    return packed >> 16 & 0xfff8;
}

static inline bool unwind_packed_in_lr(uint32_t packed)
{
    return packed & 1 << 18;
}

static inline uint64_t unwind_packed_ra(uint32_t packed)
{
    return packed & 0xfff8;
}

static inline bool unwind_packed_has_fp(uint32_t packed)
{
    return packed & 1 << 17;
}

static inline uint64_t unwind_packed_fp(uint32_t packed)
{
    return unwind_packed_ra(packed) - 8;
}

static inline bool unwind_packed_signed(uint32_t packed)
{
    return packed & 1 << 16;
}

static inline uint64_t unwind_arch_strip(uint64_t address)
{
    /* xpaclri, spelt as the hint it is: does nothing on processors without pointer authentication. */
    register uint64_t x30 __asm__("x30") = address;
    __asm__("hint 7" : "+r"(x30));
    return x30;
}

/* struct rt_sigframe: siginfo (128 bytes), then the ucontext. */
static inline struct unwind_signal_slots unwind_arch_signal_slots(void)
{
    enum { CONTEXT = 128 + offsetof(ucontext_t, uc_mcontext) };
    return (struct unwind_signal_slots){.pc = CONTEXT + offsetof(mcontext_t, pc),
                                        .sp = CONTEXT + offsetof(mcontext_t, sp),
                                        .fp = CONTEXT + offsetof(mcontext_t, regs) + 29 * 8,
                                        .lr = CONTEXT + offsetof(mcontext_t, regs) + 30 * 8};
}

/* The vdso's signal trampoline (Linux 5.8 took its .eh_frame away) and the entries of a .plt, which the linker does not
 * describe. `lookup` is any byte of an instruction; code is readable in [low, high). */
static inline enum unwind_kind unwind_arch_known_code(uint64_t lookup, uint64_t low, uint64_t high, bool is_vdso,
                                                      struct unwind_rule *rule)
{
    const uint32_t *code = (const uint32_t *)(lookup & ~3ull);
    uint64_t before = lookup - low, after = high - lookup; /* bytes that can be looked at */
    if (is_vdso) {
        /* A handler returns to the first instruction; what is before it is asked for then. */
        const uint32_t mov_x8_rt_sigreturn = 0xd2801168, svc_0 = 0xd4000001;
        for (int at = -1; at <= 1; at++)
            if (before >= 4 && after > 12 && code[-at] == mov_x8_rt_sigreturn && code[1 - at] == svc_0)
                return UNWIND_SIGNAL;
        return UNWIND_NONE;
    }
    /* adrp x16, PAGE; ldr x17, [x16, n]; add x16, x16, n; br x17: none of them touches sp, x29 or x30. */
    for (int at = 0; at < 4; at++) {
        const uint32_t *entry = code - at;
        if (before >= 16 && after > 16 && (entry[0] & 0x9f00001f) == 0x90000010 &&
            (entry[1] & 0xffc003ff) == 0xf9400211 && (entry[2] & 0xffc003ff) == 0x91000210 && entry[3] == 0xd61f0220) {
            *rule = (struct unwind_rule){.kind = UNWIND_FRAME, .cfa = UNWIND_CFA_SP, .ra = UNWIND_SAME};
            return UNWIND_FRAME;
        }
    }
    return UNWIND_NONE;
}

static inline bool unwind_arch_after_call(uint64_t address, uint64_t low)
{
    if (address < low + 4 || address & 3)
        return false;
    uint32_t code = *(const uint32_t *)(address - 4);
    return (code & 0xfc000000) == 0x94000000 || /* bl */
           (code & 0xfffffc1f) == 0xd63f0000 || /* blr */
           (code & 0xfefff800) == 0xd63f0800;   /* blraa, blrab and their zero forms */
}
