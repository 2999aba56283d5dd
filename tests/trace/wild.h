/* tests/trace/wild.h - events with fields as wild as their types allow. */
#ifndef NUMALENS_TESTS_TRACE_WILD_H
#define NUMALENS_TESTS_TRACE_WILD_H

#include "wire/event.h"

#include <stdio.h>
#include <string.h>

struct wild {
    uint64_t random;
    uint64_t frames[64];
    char text[40], other[40];
};

static inline uint64_t wild_number(struct wild *wild)
{
    wild->random ^= wild->random << 13;
    wild->random ^= wild->random >> 7;
    wild->random ^= wild->random << 17;
    return wild->random * 0x2545f4914f6cdd1du;
}

/* Small, middling and huge numbers alike. */
static inline uint64_t wild_value(struct wild *wild)
{
    uint64_t number = wild_number(wild);
    return number >> (wild_number(wild) % 64);
}

static inline struct event wild_event(struct wild *wild, unsigned kind)
{
    struct event event = {.time = wild_value(wild) >> 1, .kind = (uint8_t)kind};
    event.pid = 100 + (uint32_t)(wild_number(wild) % 3);
    event.tid = event.pid + (uint32_t)(wild_number(wild) % 4);
    snprintf(wild->text, sizeof wild->text, "text %llx", (unsigned long long)wild_value(wild));
    snprintf(wild->other, sizeof wild->other, "%.*s", (int)(wild_number(wild) % 20), "another text of some length");
    switch (kind) {
    case EVENT_PROCESS_START:
        event.process =
            (struct event_process){(uint32_t)wild_value(wild), wild_number(wild) & 1, wild->text, wild->other};
        break;
    case EVENT_PROCESS_EXIT:
        event.exit_status = (int32_t)wild_value(wild);
        break;
    case EVENT_THREAD_START:
    case EVENT_THREAD_NAME:
    case EVENT_THREAD_EXIT:
        event.thread = (struct event_thread){wild->other, wild_value(wild), wild_value(wild), wild_value(wild)};
        break;
    case EVENT_MODULE_LOAD:
    case EVENT_MODULE_UNLOAD:
        event.module = (struct event_module){wild_value(wild), wild_value(wild), wild_value(wild), wild->text};
        event.module.build_id_size = (uint8_t)(wild_number(wild) % 21);
        for (unsigned i = 0; i < event.module.build_id_size; i++)
            event.module.build_id[i] = (uint8_t)wild_number(wild);
        break;
    case EVENT_MAP:
    case EVENT_UNMAP:
        event.map = (struct event_map){wild_value(wild),           wild_value(wild),
                                       wild_value(wild),           (uint32_t)wild_value(wild),
                                       (uint32_t)wild_value(wild), (uint32_t)wild_value(wild),
                                       (uint8_t)wild_value(wild),  wild->text};
        break;
    case EVENT_STACK:
        event.stack.id = (uint32_t)wild_value(wild);
        event.stack.depth = (uint16_t)(wild_number(wild) % 65);
        event.stack.cut = wild_number(wild) & 1;
        event.stack.frames = wild->frames;
        /* Most chains share an end with the one before. */
        for (unsigned i = 0; i < wild_number(wild) % 65; i++)
            wild->frames[i] = wild_value(wild);
        break;
    case EVENT_ALLOC:
    case EVENT_POOL_ALLOC:
        event.alloc = (struct event_alloc){wild_value(wild), wild_value(wild), (uint32_t)wild_value(wild),
                                           (uint16_t)wild_value(wild), (uint8_t)wild_value(wild)};
        event.alloc.pool = kind == EVENT_POOL_ALLOC ? wild_value(wild) : 0;
        break;
    case EVENT_POOL:
        event.pool = (struct event_pool){wild_value(wild), wild_value(wild), (uint8_t)wild_value(wild),
                                         (uint8_t)wild_value(wild)};
        break;
    case EVENT_FREE:
        event.free = (struct event_free){wild_value(wild), (uint16_t)wild_value(wild), (uint8_t)wild_value(wild)};
        break;
    case EVENT_SAMPLE:
        event.sample.addr = wild_value(wild);
        event.sample.physical = wild_number(wild) & 1 ? wild_value(wild) : 0;
        event.sample.flags = (uint8_t)wild_value(wild);
        event.sample.latency = event.sample.flags & SAMPLE_HAS_LATENCY ? (uint32_t)wild_value(wild) : 0;
        event.sample.stack = (uint32_t)wild_value(wild);
        event.sample.cpu = (uint16_t)wild_value(wild);
        event.sample.size = (uint16_t)wild_value(wild);
        event.sample.source = (uint8_t)wild_value(wild);
        event.sample.level = (uint8_t)wild_value(wild);
        event.sample.period = (uint32_t)wild_value(wild) & SAMPLE_PERIOD_MOST;
        break;
    case EVENT_TOUCH:
        event.touch =
            (struct event_touch){wild_value(wild), wild_value(wild), (uint16_t)wild_value(wild), wild_number(wild) & 1};
        break;
    case EVENT_HOME:
        event.home = (struct event_home){wild_value(wild), wild_value(wild), (int32_t)wild_value(wild)};
        break;
    case EVENT_PAGE:
        event.page.page = wild_value(wild);
        event.page.size = wild_number(wild) % 4 ? 4096 : wild_value(wild);
        event.page.physical = wild_number(wild) & 1 ? wild_value(wild) : 0;
        event.page.until = wild_value(wild);
        event.page.ip = wild_value(wild);
        event.page.reads = (uint32_t)wild_value(wild);
        event.page.writes = (uint32_t)wild_value(wild);
        event.page.unknown = (uint32_t)wild_value(wild);
        event.page.mechanism = (uint8_t)wild_value(wild);
        event.page.cpus = wild->frames;
        event.page.cpu_words = (uint16_t)(wild_number(wild) % 2 ? 2 : wild_number(wild) % 65);
        if (wild_number(wild) % 3 == 0)
            wild->frames[wild_number(wild) % 64] = wild_value(wild);
        break;
    case EVENT_FRAME:
        event.frame = (struct event_frame){wild_value(wild), wild_value(wild)};
        break;
    case EVENT_BARRIER:
        event.barrier.waited = wild_value(wild);
        break;
    case EVENT_STREAM:
        event.stream = (struct event_stream){.pc = wild_value(wild),
                                             .addr = wild_value(wild),
                                             .stride = (int64_t)wild_value(wild),
                                             .ahead = wild_value(wild),
                                             .turns = (int64_t)wild_value(wild),
                                             .user_ns = wild_value(wild),
                                             .burst = (uint32_t)wild_value(wild),
                                             .gap_ns = (uint32_t)wild_value(wild),
                                             .ahead_ns = (uint32_t)wild_value(wild),
                                             .size = (uint16_t)wild_value(wild),
                                             .times = (uint16_t)wild_value(wild),
                                             .runs = (uint16_t)wild_value(wild),
                                             .flags = (uint8_t)wild_value(wild),
                                             .timed = (uint8_t)(wild_number(wild) % (STREAM_LATENCIES + 1))};
        for (unsigned i = 0; i < event.stream.timed; i++)
            event.stream.latencies[i] = (uint16_t)wild_value(wild);
        break;
    case EVENT_LOSS:
        event.loss = (struct event_loss){(uint8_t)(wild_value(wild) % LOSS_CAUSES), wild_value(wild)};
        break;
    }
    return event;
}

#endif
