/* analysis/problems/balance.h - how evenly threads bear remote accesses (LaProf's third problem; Figures 9, 10, Table VI; SPEC L11).
 *
 * The thread with the most is the critical one: where threads meet at barriers, the others wait for it. A thread is counted
 * when it did at least a tenth of what the busiest did: one that only starts the others and waits says nothing.
 * Only what happens while at least two threads live is counted: a program's beginning is its main thread's alone.
 * Accesses are remote by the home nodes of their pages; with a threshold, as in the paper, by latency alone. */
#pragma once

#include "analysis/facts/accesses.h"

struct balance_spread { /* of remote accesses over the counted threads */
    uint32_t threads;
    uint64_t remote;
    double mean, stddev; /* of all threads there are, not of a sample of them: divided by their number */
    double variation;    /* stddev / mean; 0 when nothing is remote */
    uint32_t heavy;      /* threads above the mean */
    uint32_t critical;   /* thread, or FLOW_NONE when nothing is remote */
};

/* Waiting at barriers, where they are seen. The C library's (pthread_barrier_wait) report each wait. Others are seen when
 * threads wait in a loop in them. Between two of those all wait for the one that works longest: what a thread works
 * less than that one, it waits. Work is counted in bursts outside barriers, which come by CPU time: so it does not matter
 * whether others use the CPUs too. Phases in which different threads are last are distinguished; where that changes
 * faster, more is waited at such barriers than this. */
struct balance_wait {
    uint32_t last; /* the thread that waits least, or FLOW_NONE when no barrier is seen */
    double share;  /* of their time that all but the last wait, on average */
};

struct balance_thread {
    uint32_t thread;
    int16_t node;
    bool counted;
    struct access_tally all, remote;
    uint64_t bursts;
    uint64_t spun_bursts; /* in a barrier, waiting in a loop */
    bool at_barrier;      /* counted, and its process was seen at barriers more than once or twice */
    bool sleeps;          /* in barriers that report it, and its process spins in none */
    double ran;           /* its bursts by those of the busiest: what it did not sleep */
    double waited;        /* at_barrier: share of its time; else 0 */
    double waited_s;      /* that share of the time it lived together with others */
};

struct balance_phase {
    uint64_t start, end;
    struct balance_spread spread;
    struct balance_wait wait;
};

struct balance {
    const struct accesses *accesses;
    uint32_t threshold;                      /* 0: remote by homes */
    uint64_t start, end;                     /* while at least two threads lived */
    array_of(struct balance_thread) threads; /* with accesses then, in order of creation */
    struct balance_spread spread;
    struct balance_wait wait; /* of all of it */
    array_of(struct balance_phase) phases;
    bool barriers;
    bool unbalanced;
    bool too_few; /* unevenly spread, but too few for a verdict */
    double lost;  /* of the critical thread's accesses, the part that are remote beyond the mean */
    char why[512];
};

struct balance *balance_make(const struct accesses *accesses, uint32_t threshold);
void balance_free(struct balance *balance);
