/* isa/unwind/unwind_rule.h - how to get from one frame to its caller: what .eh_frame says about one code address.
 *
 * Only three registers are followed: stack pointer, frame pointer and return address. That is enough for what compilers
 * make; a rule that needs more is UNWIND_CUT. Kept as it is in a side table when rare, and packed into 32 bits (see
 * isa/unwind/CPU/unwind_arch.h) when common. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum unwind_kind {
    UNWIND_NONE,   /* nothing is known of this code: the frame pointer may be tried */
    UNWIND_FRAME,  /* the fields below hold */
    UNWIND_END,    /* the outermost frame */
    UNWIND_SIGNAL, /* the return from a signal handler: the kernel left all registers at the stack pointer */
    UNWIND_CUT,    /* there is a rule, but one that cannot be followed */
    UNWIND_HOOK,   /* the agent put this in the place of a return address: unwind_hook_find() knows it */
};

/* CFA, the canonical frame address: the caller's stack pointer. */
enum unwind_cfa {
    UNWIND_CFA_SP,    /* stack pointer + cfa_offset */
    UNWIND_CFA_FP,    /* frame pointer + cfa_offset */
    UNWIND_CFA_AT_FP, /* what is stored at frame pointer + cfa_offset (functions that realign their stack) */
};

enum unwind_saved {
    UNWIND_SAME,   /* still in its register */
    UNWIND_AT_CFA, /* stored at CFA + offset */
    UNWIND_AT_FP,  /* stored at frame pointer + offset */
};

struct unwind_rule { /* no holes: compared as bytes */
    uint8_t kind;
    uint8_t cfa;
    uint8_t ra;        /* UNWIND_SAME or UNWIND_AT_CFA */
    uint8_t fp;        /* any of enum unwind_saved */
    uint8_t is_signed; /* aarch64: the return address carries an authentication code */
    uint8_t pad[3];
    int32_t cfa_offset, ra_offset, fp_offset;
};

/* The packed form. Its two lowest bits say what the rest is. */
enum unwind_packed {
    UNWIND_PACKED_SPECIAL = 0, /* bits 2 and up: enum unwind_kind, any but UNWIND_FRAME; 0 is UNWIND_NONE */
    UNWIND_PACKED_FRAME = 1,   /* by the architecture */
    UNWIND_PACKED_INDEX = 2,   /* bits 2 and up: number of a rule in the side table */
    UNWIND_PACKED_MASK = 3,
};
