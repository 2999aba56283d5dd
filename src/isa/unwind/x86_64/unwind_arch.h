/* isa/unwind/x86_64/unwind_arch.h - see isa/unwind/unwind_arch.h.
 *
 * Packed frame rule: bit 2 CFA from the frame pointer instead of the stack pointer, bits 3-15 place of the return
 * address above that register / 8 (the CFA is right above it), bit 16 frame pointer stored, bits 19-31 its distance
 * below the CFA / 8. So on the way from a rule to the next address there is one mask and one load. */
#pragma once

#include <stddef.h>
#include <ucontext.h>

enum {
    UNWIND_REG_SP = 7,
    UNWIND_REG_FP = 6,
    UNWIND_REG_RA = 16,
    UNWIND_REG_RA_IS_PC = true,
    UNWIND_FP_GIVES_SP = true,
    UNWIND_CODE_SHIFT = 0,
    UNWIND_PACKED_LIMIT = 8191 * 8,
};

static inline uint32_t unwind_arch_pack(const struct unwind_rule *rule)
{
    int64_t ra = (int64_t)rule->cfa_offset - 8, fp = rule->fp == UNWIND_SAME ? 0 : -(int64_t)rule->fp_offset;
    if (rule->cfa == UNWIND_CFA_AT_FP || rule->ra != UNWIND_AT_CFA || rule->ra_offset != -8)
        return 0;
    if (ra < 0 || ra > UNWIND_PACKED_LIMIT || ra & 7)
        return 0;
    if (rule->fp != UNWIND_SAME && (rule->fp != UNWIND_AT_CFA || fp <= 0 || fp > UNWIND_PACKED_LIMIT || fp & 7))
        return 0;
    return UNWIND_PACKED_FRAME | (uint32_t)(rule->cfa == UNWIND_CFA_FP) << 2 | (uint32_t)ra |
           (uint32_t)(rule->fp != UNWIND_SAME) << 16 | (uint32_t)fp << 16;
}

static inline bool unwind_packed_from_fp(uint32_t packed)
{
    return packed & 1 << 2;
}

static inline uint64_t unwind_packed_ra(uint32_t packed)
{
    return packed & 0xfff8;
}

static inline uint64_t unwind_packed_cfa(uint32_t packed)
{
    return unwind_packed_ra(packed) + 8;
}

static inline bool unwind_packed_in_lr(uint32_t packed)
{
    (void)packed;
    return false;
}

static inline bool unwind_packed_has_fp(uint32_t packed)
{
    return packed & 1 << 16;
}

static inline uint64_t unwind_packed_fp(uint32_t packed)
{
    return unwind_packed_cfa(packed) - (packed >> 16 & 0xfff8);
}

static inline bool unwind_packed_signed(uint32_t packed)
{
    (void)packed;
    return false;
}

static inline uint64_t unwind_arch_strip(uint64_t address)
{
    return address;
}

/* The trampoline runs with the stack pointer at the ucontext: its own address was popped by the handler's return. */
static inline struct unwind_signal_slots unwind_arch_signal_slots(void)
{
    enum { GREGS = offsetof(ucontext_t, uc_mcontext.gregs) };
    return (struct unwind_signal_slots){
        .pc = GREGS + REG_RIP * 8, .sp = GREGS + REG_RSP * 8, .fp = GREGS + REG_RBP * 8};
}

/* Here linkers describe the .plt and the C library its signal trampoline. */
static inline enum unwind_kind unwind_arch_known_code(uint64_t lookup, uint64_t low, uint64_t high, bool is_vdso,
                                                      struct unwind_rule *rule)
{
    (void)lookup, (void)low, (void)high, (void)is_vdso, (void)rule;
    return UNWIND_NONE;
}

static inline bool unwind_arch_after_call(uint64_t address, uint64_t low)
{
    if (address < low + 8)
        return false;
    const uint8_t *end = (const uint8_t *)address;
    if (end[-5] == 0xe8)
        return true;
    /* ff /2 with one to six further bytes: register, memory, memory with displacement, rip-relative. */
    for (int length = 2; length <= 7; length++)
        if (end[-length] == 0xff && (end[1 - length] >> 3 & 7) == 2)
            return true;
    return false;
}
