/* capture/agent/handover.h - gives the region to agents that cannot open it through /proc, and lets them know who they are.
 *
 * In another PID namespace, or without a /proc, an agent neither finds its recorder nor knows its own number as the
 * recorder counts. It connects to an abstract socket (struct wire_hello) and the kernel says who that is. Such sockets
 * belong to a network namespace: from another one there is no way. */
#pragma once

#include "capture/agent/region_make.h"

#include <pthread.h>
#include <stdbool.h>

struct handover {
    int region_fd;
    uint64_t token; /* of a hello */
    pthread_t thread;
    int listener, stop;
    bool running;
};

/* A thread of its own: agents wait for it, and the recorder may wait for its disk. It waits for no single client. False: there is none. */
bool handover_start(struct handover *handover, const struct capture_region *region);
void handover_stop(struct handover *handover);
