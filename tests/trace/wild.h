/* tests/trace/wild.h - events with fields as wild as their types allow, and a comparison of all fields. */
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
        event.alloc = (struct event_alloc){wild_value(wild), wild_value(wild), (uint32_t)wild_value(wild),
                                           (uint16_t)wild_value(wild), (uint8_t)wild_value(wild)};
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
        break;
    case EVENT_TOUCH:
        event.touch =
            (struct event_touch){wild_value(wild), wild_value(wild), (uint16_t)wild_value(wild), wild_number(wild) & 1};
        break;
    case EVENT_HOME:
        event.home = (struct event_home){wild_value(wild), wild_value(wild), (int32_t)wild_value(wild)};
        break;
    case EVENT_LOSS:
        event.loss = (struct event_loss){(uint8_t)(wild_value(wild) % LOSS_CAUSES), wild_value(wild)};
        break;
    }
    return event;
}

/* Every field of an event as one line of text, so that a difference can be read. */
static inline void event_line(const struct event *event, char *line, size_t size)
{
    int used =
        snprintf(line, size, "%u %llu %u/%u: ", event->kind, (unsigned long long)event->time, event->pid, event->tid);
    line += used;
    size -= (size_t)used;
#define LINE(...)     snprintf(line, size, __VA_ARGS__)
#define NUMBER(value) ((unsigned long long)(value))
    switch (event->kind) {
    case EVENT_PROCESS_START:
        LINE("%u %d %s|%s", event->process.parent, event->process.forked, event->process.exe, event->process.command);
        break;
    case EVENT_PROCESS_EXIT:
        LINE("%d", event->exit_status);
        break;
    case EVENT_THREAD_START:
    case EVENT_THREAD_NAME:
    case EVENT_THREAD_EXIT:
        LINE("%s %llx %llx %llx", event->thread.name, NUMBER(event->thread.stack_low), NUMBER(event->thread.stack_high),
             NUMBER(event->thread.entry));
        break;
    case EVENT_MODULE_LOAD:
    case EVENT_MODULE_UNLOAD:
        used = LINE("%llx %llx %llx %s %u ", NUMBER(event->module.bias), NUMBER(event->module.start),
                    NUMBER(event->module.end), event->module.path, event->module.build_id_size);
        for (unsigned i = 0; i < 20; i++)
            used += snprintf(line + used, size - (size_t)used, "%02x", event->module.build_id[i]);
        break;
    case EVENT_MAP:
    case EVENT_UNMAP:
        LINE("%llx %llx %llx %u %u %u %u %s", NUMBER(event->map.addr), NUMBER(event->map.size),
             NUMBER(event->map.offset), event->map.stack, event->map.prot, event->map.flags, event->map.map_kind,
             event->map.path);
        break;
    case EVENT_STACK:
        used = LINE("%u %u %u", event->stack.id, event->stack.depth, event->stack.cut);
        for (unsigned i = 0; i < event->stack.depth; i++)
            used += snprintf(line + used, size - (size_t)used, " %llx", NUMBER(event->stack.frames[i]));
        break;
    case EVENT_ALLOC:
        LINE("%llx %llu %u %u %u", NUMBER(event->alloc.addr), NUMBER(event->alloc.size), event->alloc.stack,
             event->alloc.cpu, event->alloc.fn);
        break;
    case EVENT_FREE:
        LINE("%llx %u %u", NUMBER(event->free.addr), event->free.cpu, event->free.fn);
        break;
    case EVENT_SAMPLE:
        LINE("%llx %llx %u %u %u %u %u %u %u", NUMBER(event->sample.addr), NUMBER(event->sample.physical),
             event->sample.latency, event->sample.stack, event->sample.cpu, event->sample.size, event->sample.source,
             event->sample.level, event->sample.flags);
        break;
    case EVENT_TOUCH:
        LINE("%llx %llx %u %d", NUMBER(event->touch.addr), NUMBER(event->touch.ip), event->touch.cpu,
             event->touch.write);
        break;
    case EVENT_HOME:
        LINE("%llx %llu %d", NUMBER(event->home.page), NUMBER(event->home.size), event->home.node);
        break;
    case EVENT_LOSS:
        LINE("%u %llu", event->loss.cause, NUMBER(event->loss.count));
        break;
    }
#undef LINE
#undef NUMBER
}

#endif
