/* capture/heartbeat.h - tells agents that the recorder lives, even while it waits for a slow disk or for a CPU.
 *
 * A thread of its own: it sleeps nearly always, so the scheduler lets it run soon however many threads compete. Agents
 * whose ring is full wait as long as they hear it. */
#ifndef NUMALENS_CAPTURE_HEARTBEAT_H
#define NUMALENS_CAPTURE_HEARTBEAT_H

#include "wire/region.h"

#include <pthread.h>
#include <stdbool.h>

struct heartbeat {
    struct wire_region *region;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t stopped;
    bool running, stop;
};

/* False when there can be no thread: then the caller must renew region->heartbeat_ns itself. */
bool heartbeat_start(struct heartbeat *heartbeat, struct wire_region *region);
void heartbeat_stop(struct heartbeat *heartbeat);

#endif
