/* agent/sampling/reuse_times.h - after how many accesses the lines of a long burst are used again.
 *
 * One line in 2^bits is followed, chosen by a hash that differs from burst to burst (SHARDS); when too many are, half of them are
 * dropped from there on. Each access of a followed line stands for 2^bits accesses, and is counted by its instruction, its page and
 * the time since the line's last use, in accesses; of the first use in the burst only that it is at least the time since
 * the burst began. Of a store also the longest such time since the line was last stored to: a cache that forgets a line in
 * that time has written it back once.
 *
 * Runs in bursts: general registers only, no calls out, no allocation. */
#pragma once

#include "agent/sampling/keep_loop.h"
#include "base/units.h"
#include "wire/event.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    REUSE_BITS_FIRST = 4,
    REUSE_BITS_MOST = 32,
    REUSE_FOLLOWED = 16384, /* accesses, about, of all that are expected */
    REUSE_LINES = 2048,     /* followed at a time */
    REUSE_LINE_TABLE = 4096,
    REUSE_ROWS = 4096,
    REUSE_ROW_TABLE = 8192,
    REUSE_LOADS = 16, /* timed at the end of a burst: each is a sixth of a microsecond where memory is near */
};

struct reuse_line {
    uint64_t line;  /* + 1; 0: nothing is here */
    uint64_t last;  /* position of its last use */
    uint64_t first; /* of its first in the burst */
    uint64_t gap;   /* the longest time between uses since it was last stored to, or since the first */
    bool stored;
    uint8_t word; /* of the line, that was used last */
};

struct reuse_row {
    uint64_t pc, addr, count;
    uint16_t bin;
    uint8_t flags; /* enum reuse_flag */
};

struct reuse_times {
    uint64_t now; /* accesses so far */
    uint64_t seed;
    unsigned bits;
    uint32_t line_count, row_count, row_limit; /* row_limit: so many, and fewer lines are followed */
    uint64_t lost;                             /* accesses that there was no row for */
    struct reuse_line lines[REUSE_LINE_TABLE], kept[REUSE_LINES];
    uint16_t row_table[REUSE_ROW_TABLE]; /* number + 1 */
    struct reuse_row rows[REUSE_ROWS];
};

void reuse_begin(struct reuse_times *times, uint64_t seed,
                 uint64_t accesses); /* accesses: that are expected, at most */

/* An access of a line that is followed. */
void reuse_follow(struct reuse_times *times, uint64_t hash, uint64_t pc, uint64_t addr, bool write);

/* Lines that are followed, at random, for `load` to time in ns (false: says nothing); how long they were not used shows which cache
 * they should be in. */
void reuse_time_loads(struct reuse_times *times, uint64_t random, bool (*load)(uint64_t addr, uint32_t *ns));

/* Any access. */
static inline void reuse_note(struct reuse_times *times, uint64_t pc, uint64_t addr, bool write)
{
    uint64_t hash = (addr / CACHE_LINE ^ times->seed) * 0x9e3779b97f4a7c15u;
    times->now++;
    if (hash >> (64 - times->bits) == 0)
        reuse_follow(times, hash, pc, addr, write);
}
