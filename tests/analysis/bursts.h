/* bursts.h - made-up runs as the sampler sees them: bursts of accesses, some 10 ms of a thread's time apart. */
#ifndef NUMALENS_TESTS_BURSTS_H
#define NUMALENS_TESTS_BURSTS_H

#include "../flow/feeding.h"
#include "analysis/facts/facts.h"

enum { BURST = 16, MS = 1000000, HEAP = 0x10000000, CHAIN = 1 };

/* A recording on a simulated machine of four nodes with one CPU each: main is on node 0, thread PID + i on node i. */
static inline struct feeding run_begin(void)
{
    struct feeding f = feeding_new("numa:4 core:1", ASSIGN_PACKED);
    feeding_record(&f);
    feed_start(&f, PID, 1, false);
    for (uint32_t i = 1; i < 4; i++)
        feed_thread(&f, PID + i, "worker", 0, 0);
    for (uint32_t i = 0; i < 8; i++) {
        uint64_t frames[] = {0x400000 + i * 16, 0x500000};
        feed_stack(&f, CHAIN + i, 2, frames);
    }
    return f;
}

struct burst_of {    /* BURST accesses of one thread, `step` bytes apart; 0 everywhere else is fine */
    uint32_t thread; /* 0 is main */
    uint64_t addr;
    int64_t step;
    uint8_t flags; /* 0: reads */
    unsigned count;
    uint32_t latency, stack;
    uint16_t size;
    unsigned flip; /* every flip-th access writes instead; 0: none */
};

static inline void feed_burst(struct feeding *f, struct burst_of burst)
{
    for (unsigned i = 0; i < (burst.count ? burst.count : BURST); i++) {
        uint8_t flags = burst.flags ? burst.flags : SAMPLE_READ;
        if (burst.flip && i % burst.flip == 0)
            flags = SAMPLE_WRITE;
        flags |= (uint8_t)((i ? 0 : SAMPLE_FIRST) | (burst.latency ? SAMPLE_HAS_LATENCY : 0));
        f->time += 500;
        feed(f, (struct event){.kind = EVENT_SAMPLE,
                               .time = f->time,
                               .tid = PID + burst.thread,
                               .sample = {.addr = burst.addr + (uint64_t)(burst.step * i),
                                          .cpu = (uint16_t)burst.thread,
                                          .size = burst.size ? burst.size : 8,
                                          .stack = burst.stack,
                                          .latency = burst.latency,
                                          .flags = flags}});
    }
}

static inline void feed_touches(struct feeding *f, uint32_t thread, uint64_t addr, unsigned pages)
{
    uint32_t tid = f->tid;
    f->tid = PID + thread;
    for (unsigned i = 0; i < pages; i++)
        feed_touch(f, addr + i * 4096ul);
    f->tid = tid;
}

/* A small generator, so that every run of a test is the same. */
static inline uint32_t dice(uint32_t sides)
{
    static uint64_t state = 88172645463325252u;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)((state >> 11) % sides);
}

static inline struct facts *run_end(struct feeding *f)
{
    struct error err = {0};
    feeding_build(f);
    struct facts *facts = facts_make(f->flow, &err);
    assert_non_null(facts);
    return facts;
}

/* The facts of the object that begins at `addr`. */
static inline const struct facts_subject *subject_at(const struct facts *facts, uint64_t addr)
{
    array_each (&facts->objects, const struct facts_subject, subject) {
        if (flow_object(facts->flow, subject->object)->addr == addr)
            return subject;
    }
    fail_msg("no object at 0x%lx", (unsigned long)addr);
    return NULL;
}

static inline void run_free(struct feeding *f, struct facts *facts)
{
    facts_free(facts);
    feeding_free(f);
}

#endif
