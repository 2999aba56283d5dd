/* capture/faults/thread_faults.h - page faults of a process that runs already, thread by thread: no agent is in it, so the kernel
 * must report. First touches; NUMA hinting faults where the kernel balances; and, where it tracks soft-dirty pages, the
 * first write to each page in an interval. Appends EVENT_SAMPLE, and EVENT_LOSS for what the kernel could not report. */
#pragma once

#include "capture/sink.h"
#include "capture/source.h"

struct thread_faults;

/* `budget`: part of the process's time that provoked faults may cost. Each thread must be given to source.watch, and each
 * interval's begin to source.want. */
struct thread_faults *thread_faults_new(uint32_t pid, double budget, struct sink *sink);
struct source thread_faults_source(struct thread_faults *faults); /* whose open may be refused */

struct thread_faults_means {
    char sees[256];  /* what it can see here, for the user */
    char lacks[320]; /* what it cannot, with the remedy; "" when there is nothing to say */
};

/* Once it is open. */
const struct thread_faults_means *thread_faults_means(const struct thread_faults *faults);
