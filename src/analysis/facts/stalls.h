/* analysis/facts/stalls.h - how long slow accesses take of the program's time, and how much of that distance costs.
 *
 * Bursts are spread evenly over CPU time, so each burst stands for the same time, however slow its accesses are:
 * what a subject costs is the mean over bursts of its share of the burst's time. A burst's time is the latencies of its
 * timed accesses, as if nothing overlapped, and between_ns for each of them. Sources without bursts sample accesses, not
 * time; there it is one sum by the other, each access as often as what it stands for (facts_weight). */
#pragma once

#include "analysis/facts/facts.h"

/* A pause after which accesses are not of one burst, though no first one was marked: it was lost. */
enum { FACTS_BURST_PAUSE = 10000000 };

struct stall {           /* of a slow access; of time_weight (facts.h), over all of them, a share of run time */
    double slow, remote; /* its latency; of that, what a local access would not take */
    uint64_t time;
    uint32_t object, thread;
    uint32_t tag; /* as stalls_note was given it */
    int16_t home;
};

struct stalls_sums { /* over bursts: of weights and of what each lost */
    double weight, squares, products, weights_squared, count;
};

/* `facts` with its weights and penalty. A burst's stalls are visited when it has ended: at the thread's next one, or by stalls_end. */
struct stalls;
struct stalls *stalls_new(const struct facts *facts, void (*visit)(void *context, const struct stall *stall),
                          void *context);
uint32_t stalls_note(struct stalls *stalls, const struct flow_access *access,
                     uint32_t tag); /* its burst's number, from 1; 0: of no thread */
struct stalls_sums stalls_end(struct stalls *stalls);
void stalls_free(struct stalls *stalls);

/* How much longer than a local access a remote one takes by the nodes' distances, as a part of the local one's latency. */
double stalls_distance_penalty(const struct topology *topology, int from, int home);
