/* tests/trace/old_format.h - the events that tests/trace/data/format1.data was written from, by the version of that
 * format. They must stay as they are: the file cannot be written again. */
#ifndef NUMALENS_TESTS_TRACE_OLD_FORMAT_H
#define NUMALENS_TESTS_TRACE_OLD_FORMAT_H

#include "wild.h"

enum { OLD_EVENTS = 900, OLD_KINDS = 22, OLD_WILD = 500 };

/* Number `i` of OLD_EVENTS, called in order with one `wild` that began as {.random = 2024}. First events of every kind,
 * then a thread that allocates and releases. */
static inline struct event old_event(struct wild *wild, int i)
{
    if (i < OLD_WILD)
        return wild_event(wild, 1 + wild_number(wild) % (OLD_KINDS - 1));
    struct event event = {.time = 5000 + (uint64_t)i * 37, .pid = 100, .tid = 100};
    int turn = (i - OLD_WILD) / 2;
    if (i % 2 == 0) {
        event.kind = EVENT_ALLOC;
        event.alloc = (struct event_alloc){.addr = 0x555555560010 + (uint64_t)(turn * 7 % 50) * 96,
                                           .size = 16 + (uint64_t)(turn * 13 % 64),
                                           .stack = 1 + (uint32_t)turn % 5,
                                           .fn = ALLOC_MALLOC};
    } else {
        event.kind = EVENT_FREE;
        event.free = (struct event_free){.addr = 0x555555560010 + (uint64_t)(turn * 7 % 50) * 96, .fn = ALLOC_FREE};
    }
    return event;
}

#endif
