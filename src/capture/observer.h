/* capture/observer.h - someone who looks on while programs are recorded: sees each event as it is drained, and is called
 * between drains. So live commands use the same recording as `record` does. */
#pragma once

#include "capture/sink.h"
#include "capture/source.h"
#include "wire/region.h"

/* The recording as an observer sees it between drains. */
struct capture_live {
    struct sink *sink; /* for events of its own */
    struct sources *sources;
    struct wire_region *region; /* NULL: there are no agents */
};

struct capture_observer {
    void *context;
    /* Rings are drained one after another: events of one thread come in order, those of several do not. */
    void (*event)(void *context, const struct event *event);
    void (*poll)(void *context, uint64_t now,
                 const struct capture_live *live); /* about every 10 ms; from outside, 100 */
};
