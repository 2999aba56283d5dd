/* capture/count/core_lines.h - how many lines the target's own CPUs brought from memory while it was recorded, prefetched or not, by the
 * kernel's generic events of a core. They count the target and what it starts, in user mode, and need no privilege. What such an event
 * counts differs by processor (docs/traffic.md): core_events_of() has those that are known to count lines that no cache has. */
#pragma once

#include "capture/count/count_reader.h"
#include "trace/session.h"
#include "wire/event.h"

#include <sys/types.h>

enum core_kind {
    CORE_PREFETCHED, /* lines that prefetchers asked for, and no cache had */
    CORE_DEMANDED,   /* likewise the program's loads */
    CORE_MISSED,     /* either, and stores, not distinguished; which prefetches are in it differs by processor */
    CORE_KINDS
};

/* Tried in order. Those of a group count together, unless its first one is refused: then the next group is tried. */
struct core_event {
    enum core_kind kind;
    unsigned group;
    const char *name; /* as perf has it; NULL: the end */
    uint32_t type;
    uint64_t config;
};

struct core_lines {
    struct count_counter counters[CORE_KINDS];
    struct count_reader readers[CORE_KINDS];
    enum core_kind kinds[CORE_KINDS];
    size_t count;
    uint64_t from, until; /* times of opening and of the reading */
    char names[128];      /* of what counts */
    char absent[128];     /* of what was refused; "" when nothing was */
    char reason[400];     /* why nothing counts, or "" */
};

/* For the processors of a source of samples; `root` is of sys, "" for this machine's. NULL with `why` when no generic event counts
 * lines from memory there. */
const struct core_event *core_events_of(enum sample_source source, const char *root, const char **why);

/* Counts `task`, from its next exec on, and all it starts then. What is refused is a reason. Zeroed before. */
void core_lines_open(struct core_lines *lines, const struct core_event *events, pid_t task);

/* Once, when the target has ended or is no longer of interest. */
void core_lines_read(struct core_lines *lines);
void core_lines_close(struct core_lines *lines);

/* The figures, or the reason, for the trace's last block (docs/format.md). */
void core_lines_describe(const struct core_lines *lines, struct trace_session *ending);
