/* capture/source.h - one interface for everything that events come from: rings of agents, records of perf, hardware
 * samples, page faults, CPU time, homes and mappings of pages, counters. Recorders, the library's engine and the loops
 * of src/migrate put together a list of those they want, and drain that.
 *
 * What all of them have in common: each is opened on a target and may be refused; is drained again and again, up to a
 * time, and says how full its buffers were, which decides how long the loop may sleep; puts events into a sink
 * (capture/sink.h) and reports pages to one listener; and is finished once no more will come. A source need not have
 * all of that: any function may be NULL. Used by one thread. */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The pace of every loop over sources. */
enum {
    SOURCE_IDLE_NS = 10000000,    /* a loop sleeps at most that long */
    SOURCE_HURRY_NS = 1000000,    /* when buffers of the kernel fill up */
    SOURCE_TEND_NS = 100000000,   /* between looks for threads that started or ended */
    SOURCE_FLUSH_NS = 1000000000, /* what a kill -9 may cost */
};
#define SOURCE_HURRY_FILLED 0.1 /* of a buffer of the kernel */

/* In the order in which they are drained. */
enum source_kind {
    FROM_AGENTS,   /* first: their news of new memory comes before its first touch */
    FROM_CPU_TIME, /* of processes that agents introduced */
    FROM_PERF,     /* first touches; processes, threads and mappings */
    FROM_FAULTS,   /* pages in use, from what perf reported up to then */
    FROM_HARDWARE,
    FROM_OUTSIDE, /* stops of threads: capture/outside/outside.h */
    FROM_HOMES,   /* of the pages that all of the above reported */
    FROM_MAPS,
    FROM_RUNTIMES, /* names of code, from files that the target writes */
    FROM_COUNTERS, /* no events: readings (capture/count/count_recorded.c) */
    SOURCE_KINDS
};

/* Who else wants to know what comes by; each may be NULL. */
struct source_listener {
    void *context;
    void (*sample)(void *context, uint32_t pid, uint64_t addr, uint64_t time);
    void (*fault)(void *context, uint32_t pid, uint64_t addr, uint64_t time); /* the first one of a page */
    void (*fresh)(void *context, uint32_t pid, uint64_t addr,
                  uint64_t size);                                  /* new memory in place of what was there */
    void (*mapped)(void *context, uint32_t pid, const char *path); /* a file */
};

struct source_level {
    size_t bytes;  /* taken from rings of agents */
    double filled; /* how full the fullest buffer of the kernel was, of 1.0 */
    uint64_t due;  /* ns until a source wants to be drained again; 0: any time */
};

struct source {
    enum source_kind kind;
    bool needed;   /* nothing can be done without it; else the rest goes on when it is refused */
    void *context; /* not NULL */

    /* 0, or negative with `err`: cause and remedy. */
    int (*open)(void *context, struct error *err);

    /* From now on samples are wanted, or not. Said again with each interval of a loop that has such. 0 or -errno. */
    int (*want)(void *context, bool wanted);

    /* Takes what happened up to time `until`; raises `level`. */
    void (*drain)(void *context, uint64_t until, struct source_level *level);

    /* About every SOURCE_TEND_NS: threads that ended, counters that are passed on. */
    void (*tend)(void *context, uint64_t now);

    uint64_t (*cost_ns)(void *context); /* of the target's CPU time so far */

    /* No more will come: takes all that is left. */
    void (*finish)(void *context);

    void (*close)(void *context); /* also after a refused open */
};

/* At most one of each kind. Zeroed = empty and ready. */
struct sources {
    struct source items[SOURCE_KINDS];     /* by kind; without a context: not open */
    struct error refusals[SOURCE_KINDS];   /* by kind; code 0: none */
    enum source_kind opened[SOURCE_KINDS]; /* in that order */
    unsigned count;
    uint64_t spacing_ns;      /* all but agents cost system calls: not drained again before that long; 0: at once */
    uint64_t drained, tended; /* when: the kernel's; all */
};

/* Opens it and takes it into the list, which closes it. 0; 1 when it was refused and is not needed: the reason stays in
 * sources->refusals; or negative with `err`. What was refused is closed. */
int sources_open(struct sources *sources, struct source source, struct error *err);

/* Drains all, in the order of their kinds. `level` starts at zero; a buffer that was spared for spacing_ns counts as
 * full: it may be the one that woke the loop. */
void sources_drain(struct sources *sources, uint64_t now, struct source_level *level);

/* True when it was time to tend them, which is done then. */
bool sources_tend(struct sources *sources, uint64_t now);

/* Every one, whatever the others say: 0, or the first one's -errno. Only reads the list: another thread may call it when the
 * sources allow that. */
int sources_want(struct sources *sources, bool wanted);

uint64_t sources_cost_ns(const struct sources *sources);

/* In the order of their opening: hardware's last samples come before perf's last records, with which processes end and their call
 * chains are forgotten. */
void sources_finish(struct sources *sources);

/* One, or all that are left, in the reverse order of their opening. */
void sources_close_one(struct sources *sources, enum source_kind kind);
void sources_close(struct sources *sources);

/* How long a loop may sleep after a drain. */
static inline uint64_t source_sleep_ns(const struct source_level *level)
{
    uint64_t ns = level->filled > SOURCE_HURRY_FILLED ? SOURCE_HURRY_NS : SOURCE_IDLE_NS;
    return level->due && level->due < ns ? level->due : ns;
}

static inline void source_level_due(struct source_level *level, uint64_t ns)
{
    level->due = !level->due || ns < level->due ? ns : level->due;
}

static inline void source_level_raise(struct source_level *level, double filled)
{
    level->filled = filled > level->filled ? filled : level->filled;
}
