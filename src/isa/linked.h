/* isa/linked.h - long bursts: millions of a thread's next instructions, translated block by block, the blocks linked to each
 * other, run in a signal handler.
 *
 * A block is a whole basic block that writes the addresses of its accesses to a log by itself and jumps to the next one, so that
 * an access takes some nanoseconds. When the log is full it is handed over. LINKED_COUNTS writes no log and counts accesses
 * only, at nearly the program's own speed.
 *
 *   linked_map.c      memory
 *   linked.c          the loop, blocks by address, faults
 *   CPU/linked.h      what translated code addresses, and how
 *   CPU/linked_*.c    translation; the way in and out
 *
 * Blocks are forgotten before each burst: code may have been unloaded or overwritten since. All of it but linked_map.c runs in
 * bursts: no calls out; on x86-64 general registers only. */
#pragma once

#include "wire/event.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

#if defined(__aarch64__)
#include "isa/aarch64/linked.h"
#elif defined(__x86_64__)
#include "isa/x86_64/linked.h"
#else
#error "this architecture is not supported"
#endif

enum {
    LINKED_CODE = 4 << 20,
    LINKED_BLOCKS = 16384,
    LINKED_TABLE = 1 << 15, /* a power of two, at most half full */
    LINKED_SITES = 1 << 16,
    LINKED_PLACES = 1 << 17,
    LINKED_INDIRECT = 1 << 16, /* by the lowest 16 bits of an address that differ */
    LINKED_LOG = 8192,         /* words */
    LINKED_INSTRUCTIONS = 40,
    LINKED_ACCESSES = 40,
    LINKED_UNROLLED = 8, /* iterations of a loop of one block that are counted at once */
    LINKED_UNROLLED_INSTRUCTIONS = 24,
    LINKED_NO_REGISTER = 0xff,
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
    uint8_t flags, segment; /* segment: x86-64; of a repeated one, the register that holds its address */
    uint8_t source;         /* where in its block the instruction is */
};

struct linked_place { /* where an instruction's copy begins */
    uint32_t code;
    uint8_t source, accesses; /* accesses of the block before it */
    uint8_t scratch;          /* a register that was saved for it, or LINKED_NO_REGISTER */
};

enum linked_kind { LINKED_RUNS, LINKED_STOPS, LINKED_REPEATS /* x86-64: a string instruction */ };

struct linked_block {
    uint64_t pc, next;
    uint32_t code; /* offset */
    uint32_t first_site, first_place;
    uint16_t places;
    uint8_t kind, accesses;
    uint8_t x, y; /* registers that it does not use, for the log */
    struct linked_own own;
};

struct linked {
    /* Addressed by translated code. */
    struct linked_state state;
    uint64_t pc, exit_link;  /* exit_link: 0, or what is to be linked to the block at pc */
    uint64_t exit_block;     /* LINKED_BLOCKS: the log is full, or enough was counted */
    uint64_t log, log_limit; /* where the next record goes; where the log is full */
    int64_t remaining;       /* LINKED_COUNTS: accesses; negative: enough */

    enum linked_mode mode;
    uint8_t *code, *writable; /* the same memory, mapped twice */
    uint64_t leave;           /* where translated code jumps to, to come back */
    uint64_t *log_begin, *log_end;
    uint32_t code_used, block_count, site_count, place_count, slot_count;
    volatile bool running, faulted, must_stop;
    int64_t sequence_at; /* where restartable sequences are announced, from the thread pointer */
    bool has_sequence;
    enum linked_stop stopped;
    uint32_t stop_name; /* LINKED_INSTRUCTION: of the instruction, by its processor's half */
    uint64_t stop_next; /* ... and where the next one is; 0: not known */
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

/* A record: a head, then a word for each of its accesses, of which linked_address() makes the address. The head is the number of
 * the block, and in its upper half 0, or how many of them were made + 1: a fault came. With the number LINKED_BLOCKS it is of one
 * access, by the site in the upper half, of the block in the next word. An address of 0 stands for an access that was not made. */
uint64_t linked_address(const struct linked *linked, const struct linked_site *site, uint64_t word);

/* Address space, and what is made in it: NULL when there is no executable memory. linked_make() is linked_map() and
 * linked_prepare(): `code` and `writable` are the same memory, `state` that of linked_state_bytes(), all 0. */
size_t linked_bytes(void);
size_t linked_state_bytes(void);
struct linked *linked_make(void *reserved);
struct linked *linked_prepare(uint8_t *code, uint8_t *writable, void *state);

void linked_forget(struct linked *linked);

/* What an empty place of `indirect` has for an address: one that is never looked up there. */
static inline uint64_t linked_empty(unsigned slot)
{
    return slot == 0 ? UINT64_MAX : 0;
}

/* Runs from the context on until `consume` or `remaining` says that it is enough; the context is where it ended. `thread` is the
 * thread's step_stack: on x86-64 its engine, for its vector registers. False: no burst here. */
bool linked_run(struct linked *linked, void *thread, ucontext_t *context);

/* A fault in translated code: the context goes back into linked_run, which ends before the instruction. */
bool linked_fault(struct linked *linked, ucontext_t *context);

/* After a burst: bytes of the system call that ended it, with its number; 0: it was none. */
unsigned linked_call(const struct linked *linked, uint64_t *number);

/* At a function's first instruction: where it returns to; 0: not known. */
uint64_t linked_return_address(const struct linked *linked);

/* Reads eight bytes of the program's; false: it would fault. */
bool linked_read(uint64_t from, uint64_t *to);

/* linked.c, for CPU/linked_*.c. */
enum linked_stop linked_loop(struct linked *linked);
bool linked_hand_over(struct linked *linked);
void linked_enter_block(struct linked *linked, const struct linked_block *block);
const struct linked_block *linked_holding(const struct linked *linked, uint32_t offset);
const struct linked_place *linked_place_at(const struct linked *linked, const struct linked_block *block,
                                           uint32_t offset);
/* Of a fault at an offset, whose registers are known: the burst is to end before that instruction. */
void linked_end_at(struct linked *linked, const struct linked_block *block, const struct linked_place *place);

/* CPU/linked_*.c, for linked.c. */
void linked_prepare_ways(struct linked *linked);                          /* the first LINKED_ENTRY bytes of code */
bool linked_translate(struct linked *linked, struct linked_block *block); /* at block->pc; false: unreadable */
void linked_link(struct linked *linked, uint32_t link, uint64_t to);
void linked_settle(struct linked *linked);                                      /* code was written */
bool linked_carry_out(struct linked *linked, const struct linked_block *block); /* false: a fault */
void linked_call_code(struct linked *linked, uint64_t code);
