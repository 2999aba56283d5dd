/* isa/x86_64/linked.h - long bursts: millions of a thread's next instructions, translated block by block, the blocks linked to
 * each other, run in a signal handler.
 *
 * engine.h gets control before each access; here a block is a whole basic block that writes the addresses of its accesses to a
 * log by itself and jumps to the next one, so that an access takes some nanoseconds. When the log is full it is handed over.
 * LINKED_COUNT writes no log and counts accesses only, at nearly the program's own speed.
 *
 * A block needs two registers for that. It takes two of r8 to r15 that none of its instructions uses, and ends where fewer are
 * left. Flags are changed only where the block overwrites them before it reads them.
 *
 *   linked_map.c    memory
 *   linked_uses.c   what an instruction uses of registers and flags
 *   linked_block.c  translation
 *   linked_run.c    the loop, what is done by hand, faults
 *
 * Blocks are forgotten before each burst: code may have been unloaded or overwritten since. All of it but linked_map.c runs in
 * bursts: general registers only, no calls out. */
#pragma once

#include "isa/x86_64/emit.h"
#include "isa/x86_64/engine.h"

enum {
    LINKED_CODE = 4 << 20,
    LINKED_BLOCKS = 16384,
    LINKED_TABLE = 1 << 15, /* a power of two, at most half full */
    LINKED_SITES = 1 << 16,
    LINKED_PLACES = 1 << 17,
    LINKED_INDIRECT = 1 << 16, /* by the lowest 16 bits of an address */
    LINKED_LOG = 8192,         /* words */
    LINKED_INSTRUCTIONS = 40,
    LINKED_ACCESSES = 40,
    LINKED_SOURCE = 240,
};

enum linked_mode { LINKED_LOGS, LINKED_COUNTS };

enum linked_stop {
    LINKED_ENOUGH,
    LINKED_INSTRUCTION, /* one that must run by itself; a system call */
    LINKED_UNREADABLE,
    LINKED_FAULT,
    LINKED_ELSEWHERE, /* code that may not be translated */
    LINKED_ASKED,     /* `must_stop` */
};

struct linked_site { /* one operand of one instruction */
    uint16_t size;
    uint8_t flags, segment; /* segment: of a repeated one, the register that holds its address */
    uint8_t source;         /* where in its block the instruction is */
};

struct linked_place { /* where an instruction's copy begins */
    uint32_t code;
    uint8_t source, accesses; /* accesses of the block before it */
    uint8_t scratch;
};

enum linked_kind { LINKED_RUNS, LINKED_STOPS, LINKED_REPEATS };

struct linked_block {
    uint64_t pc, next;
    struct outline last;
    struct decode_operand through; /* of an indirect branch that is done by hand */
    uint32_t code, body, end;      /* offsets; from body to end, x and y are the log's */
    uint32_t first_site, first_place;
    uint16_t places;
    uint8_t kind, accesses, operands, x, y;
    bool unknown; /* LINKED_STOPS: cannot be decoded */
    uint8_t repeat_bytes;
    bool by_hand;
};

struct linked {
    /* Addressed by translated code. */
    uint64_t general[16], rip, flags, own_sp, target, scratch, save_x, save_y, save_cx;
    uint64_t log, log_limit, log_minus; /* where the next record goes; where the log is full; minus that */
    int64_t left;                       /* LINKED_COUNTS: accesses; negative: enough */
    uint64_t exit_link, exit_block;

    enum linked_mode mode;
    uint8_t *code, *writable; /* the same memory, mapped twice */
    uint64_t enter, leave, leave_restored;
    uint64_t *log_begin, *log_end;
    uint32_t code_used, block_count, site_count, place_count, slot_count;
    volatile bool running, faulted, must_stop;
    uint64_t fs_base, gs_base;
    int64_t sequence_at; /* where restartable sequences are announced, from fs_base */
    bool has_sequence;   /* else anywhere near fs_base */
    enum linked_stop stopped;
    uint32_t stop_name; /* LINKED_INSTRUCTION: outline_name() */
    uint64_t stop_next; /* ... and where the next one is; 0: its length is not known */
    uint64_t translated;

    /* The log is full, or the burst ends: records from `from` to `to`. False: enough. */
    bool (*consume)(struct linked *linked, const uint64_t *from, const uint64_t *to);
    bool (*may_run)(uint64_t pc);
    void *user;

    uint16_t table[LINKED_TABLE];  /* number of the block + 1 */
    uint16_t slots[LINKED_BLOCKS]; /* of `indirect`, those in use */
    struct linked_block blocks[LINKED_BLOCKS];
    struct linked_site sites[LINKED_SITES];
    struct linked_place places[LINKED_PLACES];
    struct {
        uint64_t pc, code;
    } indirect[LINKED_INDIRECT];
};

/* A record: a head, then the addresses of its accesses, without their segments' bases. The head is the number of the block, and
 * in its upper half 0, or how many of them were made + 1: a fault came. With the number LINKED_BLOCKS it is of one access, by
 * the site in the upper half, of the block in the next word. */
static inline uint64_t linked_base(const struct linked *linked, unsigned segment)
{
    return segment == DECODE_FS ? linked->fs_base : segment == DECODE_GS ? linked->gs_base : 0;
}

/* Address space, and what is made in it: NULL when there is no executable memory. */
size_t linked_bytes(void);
struct linked *linked_make(void *reserved);

void linked_forget(struct linked *linked);

/* Runs from the context on until `consume` or `left` says that it is enough; the context is where it ended. `engine` is the
 * thread's, for its vector registers. False: no burst here. */
bool linked_run(struct linked *linked, struct engine *engine, ucontext_t *context);

/* A fault in translated code: the context goes back into linked_run, which ends before the instruction. */
bool linked_fault(struct linked *linked, ucontext_t *context);

/* Where in the table the search for a block begins. */
static inline unsigned linked_hash(uint64_t pc)
{
    return (unsigned)(pc * 0x9e3779b97f4a7c15u >> 40) & (LINKED_TABLE - 1);
}

/* linked_uses.c: those of r8 to r15 that it uses, perhaps with some more, a bit each; and whether it overwrites all arithmetic
 * flags (1), may read one (-1), or neither for certain (0). */
unsigned linked_registers(const struct decoded *decoded, const uint8_t *bytes);
int linked_flags(const struct decoded *decoded);

/* linked_block.c: the block at an address, or NULL when nothing can be read there; room for one more must be left. */
bool linked_has_room(const struct linked *linked);
struct linked_block *linked_block_at(struct linked *linked, uint64_t pc);
void linked_link(struct linked *linked, uint32_t link, uint64_t to);
