/* capture/outside/outside_process.h - the processes that are sampled from outside: which they are, their threads, their executors and
 * their heaps; and the state of the source (outside.h), which its parts share. */
#pragma once

#include "base/array.h"
#include "base/map64.h"
#include "capture/outside/executor_client.h"
#include "capture/outside/glibc_heap.h"
#include "capture/outside/outside.h"
#include "capture/outside/outside_thread.h"
#include "capture/outside/remote_python.h"
#include "capture/outside/remote_rules.h"

enum {
    OUTSIDE_SCAN_NS = 100000000, /* between looks for threads, and at what was spent, at least */
    OUTSIDE_STOP_BINS = 512,     /* of stop times, sixteen an octave */
};

struct outside_process {
    uint32_t pid;
    struct executor_client *executor;
    unsigned restarts;
    bool child, ended;
    bool active;     /* a thread of it ran since the last look */
    bool starts;     /* its executor is to be started, and */
    bool heap_due;   /* its heap to be looked at, once outside_is_quiet(); */
    bool heap_wants; /* for a sample */
    unsigned blind;  /* bursts in a row that could read no code: it may run another program */
    struct remote_python *python;
    struct remote_rules *rules;
    struct glibc_heap *heap;
    bool rules_new;        /* its code was looked at as its executor started */
    uint64_t heap_next;    /* look at it */
    uint64_t heap_asked;   /* the next one where a sample is in no object that is known: not before */
    unsigned heap_in_vain; /* looks that a sample asked for, and that found nothing new */
    array_of(struct outside_thread) threads;
};

struct outside {
    const struct capture_options *options;
    struct sink *sink;
    struct running *running;
    const struct source_listener *listener;
    array_of(struct outside_process *) processes;
    struct outside_totals totals;
    uint64_t random;
    uint64_t scanned, scans, scan_ns;  /* scan_ns: CPU time that the last one took */
    uint64_t scan_gap;                 /* between the last two, at least OUTSIDE_SCAN_NS */
    uint64_t spent_before, cpu_before; /* at the last look */
    uint64_t ended_ns;                 /* CPU time of executors that have ended */
    double slow;                       /* ticks are so many times rarer than asked for */
    double allowed;                    /* what may be spent, as a share of one CPU's time, by the last look */
    double debt_ns;                    /* spent so far above what may be; negative: saved */
    unsigned asked;                    /* threads that have been asked to stop */
    bool wanted, waits;                /* waits: nobody is asked to stop */
    bool behind, too_quick;            /* a thread owes many ticks; and more than at the last look */
    struct map64 refused;              /* processes that were looked for, and may not be looked at */
    uint32_t stops[OUTSIDE_STOP_BINS];
    struct executor_access held[EXECUTOR_ACCESSES]; /* of a burst that is done twice */
    struct executor_chains held_chains;
    struct executor_native held_native;
    struct rule_files *rule_files;
    uint8_t state[EXECUTOR_STATE];
};

uint64_t outside_random(struct outside *outside);

/* The mean distance of a thread's ticks, and the time of its next one: half to one and a half times that from now. */
uint64_t outside_period(const struct outside *outside);
uint64_t outside_next_tick(struct outside *outside, uint64_t now);

/* A process that was not named but found: where it may not be looked at, it is counted. `context`: the struct outside. */
void outside_follow_found(uint32_t pid, void *context);
void outside_follow_children(struct outside *outside, size_t number);
void outside_process_free(struct outside *outside, struct outside_process *process);

/* Whether no thread is about to stop. What takes long is done then only: a thread that stops meanwhile would stand until it is done. */
bool outside_is_quiet(const struct outside *outside);

/* Starts executors and looks at heaps where that is due. False: it is, but not now. */
bool outside_work(struct outside *outside, uint64_t now);

void outside_restart(struct outside *outside,
                     struct outside_process *process); /* its executor, which has ended; with the next tick */

/* After exec its memory is another. */
void outside_renew(struct outside *outside, struct outside_process *process, uint64_t now);

/* Takes note of the CPU time that a thread has used by now: it owes ticks for it. */
void outside_charge(struct outside *outside, const struct outside_process *process, struct outside_thread *thread);

/* Threads of a process; those of ended ones are forgotten. */
void outside_scan_process(struct outside *outside, struct outside_process *process, uint64_t now);

/* Ended processes, but those that have a thread whose stop is still to be taken. */
void outside_forget_ended(struct outside *outside);

/* How long something that took so long must not be done again, that it takes at most this part of the budget. */
uint64_t outside_pause(const struct outside *outside, uint64_t took, double part);

/* Objects that a program has just made are looked for when they are first used. */
void outside_look_for_objects(struct outside *outside, struct outside_process *process,
                              const struct outside_thread *thread, uint64_t time);
