/* capture/agent/heartbeat.h - shows agents that the recorder lives, even while it waits for a slow disk or for a CPU; and wakes the
 * recorder when buffers of the kernel fill up, which those that it sleeps on know nothing of.
 *
 * Agents also see at once when the recorder is killed: the kernel marks region->recorder_tid then (a robust futex).
 *
 * A thread of its own: it sleeps nearly always, so the scheduler lets it run soon however many threads compete. Agents
 * whose ring is full wait as long as they hear it. */
#pragma once

#include "wire/region.h"

#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>

struct heartbeat {
    struct wire_region *region;
    pthread_t thread;
    struct pollfd *watched; /* the first one ends it */
    nfds_t count;
    struct robust_list_head robust; /* the thread's, in memory that no target writes */
    struct robust_list node;
    bool running;
};

/* `fds`: the buffers' descriptors, which must stay open until it stops. False when there can be no thread: then the
 * caller must renew region->heartbeat_ns itself. */
bool heartbeat_start(struct heartbeat *heartbeat, struct wire_region *region, const int *fds, unsigned count);
void heartbeat_stop(struct heartbeat *heartbeat);
