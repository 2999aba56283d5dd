/* tests/trace/event_line.h - an event as a line of text, with every field. */
#ifndef NUMALENS_TESTS_TRACE_EVENT_LINE_H
#define NUMALENS_TESTS_TRACE_EVENT_LINE_H

#include "wire/event.h"

#include <stdio.h>

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
    case EVENT_POOL_ALLOC:
        LINE("%llx %llu %u %u %u %llx", NUMBER(event->alloc.addr), NUMBER(event->alloc.size), event->alloc.stack,
             event->alloc.cpu, event->alloc.fn, NUMBER(event->alloc.pool));
        break;
    case EVENT_POOL:
        LINE("%llx %llx %u %u", NUMBER(event->pool.handle), NUMBER(event->pool.parent), event->pool.change,
             event->pool.fn);
        break;
    case EVENT_FREE:
        LINE("%llx %u %u", NUMBER(event->free.addr), event->free.cpu, event->free.fn);
        break;
    case EVENT_SAMPLE:
        LINE("%llx %llx %u %u %u %u %u %u %u %u", NUMBER(event->sample.addr), NUMBER(event->sample.physical),
             event->sample.latency, event->sample.stack, event->sample.cpu, event->sample.size, event->sample.source,
             event->sample.level, event->sample.flags, event->sample.period);
        break;
    case EVENT_TOUCH:
        LINE("%llx %llx %u %d", NUMBER(event->touch.addr), NUMBER(event->touch.ip), event->touch.cpu,
             event->touch.write);
        break;
    case EVENT_HOME:
        LINE("%llx %llu %d", NUMBER(event->home.page), NUMBER(event->home.size), event->home.node);
        break;
    case EVENT_PAGE:
        used = LINE("%llx %llu %llx %llu %llx %u %u %u %u", NUMBER(event->page.page), NUMBER(event->page.size),
                    NUMBER(event->page.physical), NUMBER(event->page.until), NUMBER(event->page.ip), event->page.reads,
                    event->page.writes, event->page.unknown, event->page.mechanism);
        for (unsigned i = 0; i < event->page.cpu_words; i++)
            used += snprintf(line + used, size - (size_t)used, " %llx", NUMBER(event->page.cpus[i]));
        break;
    case EVENT_FRAME:
        LINE("%llx %llx", NUMBER(event->frame.page), NUMBER(event->frame.physical));
        break;
    case EVENT_BARRIER:
        LINE("%llu", NUMBER(event->barrier.waited));
        break;
    case EVENT_STREAM:
        used = LINE("%llx %llx %lld %llx %lld %llu %u %u %u %u %u %u %u %u", NUMBER(event->stream.pc),
                    NUMBER(event->stream.addr), (long long)event->stream.stride, NUMBER(event->stream.ahead),
                    (long long)event->stream.turns, NUMBER(event->stream.user_ns), event->stream.burst,
                    event->stream.gap_ns, event->stream.ahead_ns, event->stream.size, event->stream.times,
                    event->stream.runs, event->stream.flags, event->stream.timed);
        for (unsigned i = 0; i < event->stream.timed; i++)
            used += snprintf(line + used, size - (size_t)used, " %u", event->stream.latencies[i]);
        break;
    case EVENT_LOSS:
        LINE("%u %llu", event->loss.cause, NUMBER(event->loss.count));
        break;
    }
#undef LINE
#undef NUMBER
}

#endif
