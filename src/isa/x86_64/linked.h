/* isa/x86_64/linked.h - long bursts on x86-64: see isa/linked.h.
 *
 * engine.h gets control before each access; here a block is left at its end only. It needs two registers for the log, and takes
 * two of r8 to r15 that none of its instructions uses; it ends where fewer are left. Flags are changed only where the block
 * overwrites them before it reads them.
 *
 *   linked_uses.c   what an instruction uses of registers and flags
 *   linked_block.c  translation
 *   linked_run.c    the way in and out, what is done by hand, faults */
#pragma once

#include "isa/x86_64/emit.h"
#include "isa/x86_64/engine.h"

enum {
    LINKED_ENTRY = 1024,
    LINKED_BLOCK_MOST = 16384, /* bytes that a block may become, unrolled */
    LINKED_ALIGNMENT = 1,      /* of instructions */
    LINKED_SOURCE = 240,
};

struct linked_state {
    uint64_t general[16], flags, own_sp, target, scratch, save_x, save_y, save_cx;
    uint64_t log_minus; /* minus log_limit */
    uint64_t enter, leave_restored;
    uint64_t fs_base, gs_base;
};

struct linked_own {
    struct outline last;
    struct decode_operand through; /* of an indirect branch that is done by hand */
    uint32_t body, end;            /* offsets between which x and y are the log's */
    uint32_t stop_name;            /* outline_name() */
    uint8_t operands, repeat_bytes;
};

/* linked_uses.c: those of r8 to r15 that it uses, perhaps with some more, a bit each; and whether it overwrites all arithmetic
 * flags (1), may read one (-1), or neither for certain (0). */
unsigned linked_registers(const struct decoded *decoded, const uint8_t *bytes);
int linked_flags(const struct decoded *decoded);
