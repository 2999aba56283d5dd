/* long_bursts.h - made-up long bursts: a thread goes through memory, eight bytes an access, and uses no line again. */
#ifndef NUMALENS_TESTS_LONG_BURSTS_H
#define NUMALENS_TESTS_LONG_BURSTS_H

#include "bursts.h"

enum { WORD = 8, LINE = 64, PIECES = 16 };

struct long_of {
    uint32_t thread, number; /* 0 is main; number: of the burst in its thread */
    uint64_t addr, size;     /* what it goes through; size 0: it only counts */
    uint64_t again;          /* accesses after which each line is used again; 0: never */
    uint64_t process_ns;     /* CPU time of the process so far */
    double accesses_ns;      /* that the program makes; 0: 1 */
    bool stores;
    bool uncounted; /* nothing was counted behind it */
};

static inline void feed_reuse(struct feeding *f, const struct long_of *burst, uint64_t addr, uint64_t time,
                              uint64_t count, unsigned flags)
{
    feed(f, (struct event){.kind = EVENT_REUSE,
                           .tid = PID + burst->thread,
                           .reuse = {.pc = 0x1000,
                                     .addr = addr,
                                     .count = count,
                                     .burst = burst->number,
                                     .bin = (uint16_t)reuse_bin(time),
                                     .flags = (uint8_t)flags}});
}

static inline void feed_long_burst(struct feeding *f, struct long_of burst)
{
    uint64_t accesses = burst.size / WORD, piece = accesses / PIECES, lines = piece * WORD / LINE;
    double rate = burst.accesses_ns > 0 ? burst.accesses_ns : 1;
    for (unsigned store = 0; store <= burst.stores; store++) {
        unsigned flags = store ? REUSE_WRITE | REUSE_DIRTY : burst.stores ? REUSE_WRITE : 0;
        for (uint64_t i = 0; i < PIECES && accesses; i++) {
            uint64_t addr = burst.addr + i * piece * WORD, before = i * piece + piece / 2;
            bool seen = burst.again && burst.again < before;
            feed_reuse(f, &burst, addr, 1, piece - lines, flags);
            feed_reuse(f, &burst, addr, seen ? burst.again : before, lines, seen ? flags : flags | REUSE_AT_LEAST);
        }
    }
    feed(f, (struct event){.kind = EVENT_LONG_BURST,
                           .tid = PID + burst.thread,
                           .long_burst = {.accesses = accesses,
                                          .counted = burst.uncounted ? 0 : (uint64_t)(1e6 * rate),
                                          .counted_ns = burst.uncounted ? 0 : 1000000,
                                          .process_ns = burst.process_ns,
                                          .took_ns = accesses * 5,
                                          .burst = burst.number}});
}

#endif
