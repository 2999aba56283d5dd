/* predict/phase.h - threads that run side by side on a machine until the last one is done; for predict.c alone. */
#pragma once

#include "predict/predict.h"

struct phase_thread {
    uint32_t tid, node;
    bool runs;      /* in this phase */
    double cpu_s;   /* computing */
    double core;    /* bytes per second that its core can fetch from its own node */
    double load_s;  /* recorded waiting for single loads, one after the other */
    double exposed; /* the share of it that counts */
    double bytes;
};

struct phase {
    const struct model *machine;
    enum assumption assumption;
    uint32_t thread_count;
    struct phase_thread *threads;
    double *bytes;                 /* shares of a thread's bytes by memory node: thread_count * nodes */
    double *loads;                 /* that wait, likewise, as numbers */
    double total, written, remote; /* bytes */
    struct limit limit;            /* set by phase_run */
};

/* One core's bytes per second from its own node: as the model says, else so many lines under way at once. */
double core_rate(const struct model *machine, uint32_t node, enum assumption assumption);

/* Of what memory can deliver of reading alone, what it can where so much of `total` is written. */
double write_factor(const struct model *machine, double written, double total, enum assumption assumption);

/* Seconds until the last thread is done. */
double phase_run(struct phase *phase);
