/* analysis/problems/balance_waits.h - waiting at barriers, for analysis/problems/balance.c alone. */
#pragma once

#include "analysis/problems/balance.h"
#include "base/map64.h"

struct thread_slice { /* what a thread did in a slice of the run */
    uint64_t work;    /* bursts outside barriers */
    uint64_t asleep;  /* ns in barriers that report it */
    uint64_t lived;   /* ns */
};

/* Whether the access was made while waiting in a loop: its call chain goes through a barrier. `known` remembers chains. */
bool waits_spinning(const struct flow *flow, struct map64 *known, uint32_t thread, uint32_t stack);

/* Whether and how threads are seen at barriers, once their bursts are counted. */
void waits_find_barriers(struct balance *balance);

/* Adds `asleep` and `lived` to `count` equal slices of the run, each of one row for each of balance->threads. */
void waits_asleep(const struct balance *balance, struct thread_slice *slices, unsigned count);

/* Who waited for whom in one such slice, or several added up. What each spinning thread waits, in bursts, is added to
 * `waited`, by place in balance->threads; it may be NULL. */
struct balance_wait waits_of(const struct balance *balance, const struct thread_slice *slice, uint64_t *waited);

void waits_join(struct thread_slice *to, const struct thread_slice *from);
bool waits_alike(const struct balance_wait *left, const struct balance_wait *right);

/* Of all of the run, by what was waited in its phases. */
void waits_in_all(struct balance *balance, const uint64_t *waited);
