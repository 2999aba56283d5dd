/* Pairs of bursts in streams through memory, for made-up recordings: 5 GB/s of a thread that does nothing else. */
#ifndef NUMALENS_TESTS_PREDICT_STREAMS_H
#define NUMALENS_TESTS_PREDICT_STREAMS_H

#include "../analysis/bursts.h"

enum { TURNS = 500000, GAP = 800000, SLOW = 120, STRIDE = 8 };

/* Pair `number` of that thread, at `addr` in the middle of a stream that is seen to come from memory `ahead` bytes further on. */
static inline void feed_stream_flags(struct feeding *f, uint32_t tid, uint32_t number, uint64_t addr, uint64_t ahead,
                                     uint8_t flags)
{
    struct event_stream event = {.pc = 0x1000,
                                 .addr = addr,
                                 .stride = STRIDE,
                                 .ahead = addr + ahead,
                                 .iterations = TURNS,
                                 .user_ns = number * 10ul * MS,
                                 .burst = number,
                                 .gap_ns = GAP,
                                 .ahead_ns = SLOW,
                                 .size = STRIDE,
                                 .times = 20,
                                 .runs = 20,
                                 .flags = STREAM_PAIRED | STREAM_LOOP | STREAM_PASSED | flags,
                                 .timed = STREAM_LATENCIES};
    feed(f, (struct event){.kind = EVENT_STREAM, .tid = tid, .stream = event});
}

static inline void feed_stream(struct feeding *f, uint32_t tid, uint32_t number, uint64_t addr, uint64_t ahead)
{
    feed_stream_flags(f, tid, number, addr, ahead, 0);
}

#endif
