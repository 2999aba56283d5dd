/* tests/trace/churn.h - a thread that allocates and releases blocks as programs do, with an allocator that hands out
 * again what was released last. */
#ifndef NUMALENS_TESTS_TRACE_CHURN_H
#define NUMALENS_TESTS_TRACE_CHURN_H

#include "wire/event.h"

enum { CHURN_PLACES = 512, CHURN_CLASSES = 8 };

struct churn {
    uint64_t random; /* anything but 0 */
    uint32_t tid;
    bool exact;      /* times in single nanoseconds, else in steps of 16 */
    bool long_lived; /* very little is released by the thread itself */
    uint64_t time, fresh;
    uint64_t live[CHURN_PLACES], sizes[CHURN_PLACES];
    uint64_t free[CHURN_CLASSES][CHURN_PLACES];
    unsigned free_count[CHURN_CLASSES];
};

static inline uint64_t churn_number(struct churn *churn)
{
    churn->random ^= churn->random << 13;
    churn->random ^= churn->random >> 7;
    churn->random ^= churn->random << 17;
    return churn->random * 0x2545f4914f6cdd1du >> 20;
}

static inline unsigned churn_class(uint64_t size)
{
    return (unsigned)(size / 200 % CHURN_CLASSES);
}

static inline struct event churn_next(struct churn *churn)
{
    struct event event = {.pid = 1, .tid = churn->tid};
    churn->time += (1 + churn_number(churn) % 40) * (churn->exact ? 7 : 16);
    event.time = churn->time;
    uint64_t place = churn_number(churn) % CHURN_PLACES;
    uint16_t cpu = (uint16_t)(churn->time >> 16 & 1);
    if (churn->live[place] && churn->long_lived && churn_number(churn) % 16)
        churn->live[place] = 0; /* someone else will release it */
    if (churn->live[place]) {
        unsigned size_class = churn_class(churn->sizes[place]);
        event.kind = EVENT_FREE;
        event.free = (struct event_free){.addr = churn->live[place], .cpu = cpu, .fn = ALLOC_FREE};
        if (churn_number(churn) % 8 == 0) /* a block of another thread, that is */
            event.free.addr = (uint64_t)0x7f0000000000 + churn_number(churn) % 10000 * 48;
        else
            churn->free[size_class][churn->free_count[size_class]++] = churn->live[place];
        churn->live[place] = 0;
        return event;
    }
    uint64_t size = churn_number(churn) % 4 ? 24 + churn_number(churn) % 3 * 200 : churn_number(churn) % 3000;
    unsigned size_class = churn_class(size);
    uint64_t addr = 0x555555560010 + ((uint64_t)churn->tid << 32) + churn->fresh;
    if (churn->free_count[size_class])
        addr = churn->free[size_class][--churn->free_count[size_class]];
    else
        churn->fresh += (size + 23) & ~(uint64_t)15;
    churn->live[place] = addr;
    churn->sizes[place] = size;
    event.kind = EVENT_ALLOC;
    event.alloc = (struct event_alloc){
        .addr = addr, .size = size, .stack = 1 + (uint32_t)(churn_number(churn) % 5), .cpu = cpu, .fn = ALLOC_MALLOC};
    return event;
}

#endif
