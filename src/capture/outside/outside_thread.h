/* capture/outside/outside_thread.h - a thread that is sampled from outside, as /proc reports it. */
#pragma once

#include "capture/sink.h"

struct outside_thread {
    uint32_t tid;
    uint16_t cpu;   /* where it ran last */
    bool active;    /* has used CPU time since the look before the last */
    bool killed;    /* while it was stopped: its end is to be taken */
    bool waited;    /* asked to stop, it had to wait for a CPU first */
    bool has_stack; /* its stack was asked for, and is: */
    uint64_t stack_low, stack_high;
    uint32_t bursts;                   /* so far */
    double alike;                      /* of those done twice, held and let go: the share that was the same */
    uint64_t next;                     /* tick */
    uint64_t asked;                    /* to stop, when; 0: not */
    uint64_t cpu_ns;                   /* that it has used */
    uint64_t scanned_ns;               /* likewise, at the last look */
    double owed;                       /* ticks, for that; negative until the next one is due */
    double scanned_owed;               /* likewise, at the last look */
    uint64_t seen;                     /* at which look */
    uint64_t python_state;             /* where the interpreter keeps what it knows of this thread; 0: not known */
    uint32_t python_tid;               /* the number that it has there */
    uint32_t python_skip, python_wait; /* ticks until it is looked for again */
};

/* CPU time so far; 0 when it has ended. */
uint64_t outside_thread_cpu(uint32_t pid, uint32_t tid);

/* Whether it has ended, and who is to take its end has not yet. */
bool outside_thread_is_zombie(uint32_t pid, uint32_t tid);

/* Whether it runs now, or waits for a CPU only; takes note of the CPU. */
bool outside_thread_runs(uint32_t pid, struct outside_thread *thread);

/* Reports the mapping that its stack pointer is in, once. */
void outside_thread_stack(struct sink *sink, uint32_t pid, struct outside_thread *thread, uint64_t sp, uint64_t time);
