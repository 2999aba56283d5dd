/* capture/rotate/carried_chains.h - the call chains of a program image, packed: each as what differs from the one before. A program that is
 * sampled for hours meets new chains all the time, and all that is kept of them is here. */
#pragma once

#include "base/array.h"
#include "wire/event.h"

struct carried_chains { /* zeroed = empty and ready */
    array_of(uint8_t) bytes;
    array_of(uint64_t) last; /* frames of the latest, outermost first */
    uint32_t last_id;
};

void carried_chains_put(struct carried_chains *chains, const struct event_stack *stack);

/* Each of them, as it was put, as an event with what `like` has besides. */
void carried_chains_replay(const struct carried_chains *chains, struct event like,
                           void (*put)(void *context, const struct event *event), void *context);

void carried_chains_free(struct carried_chains *chains);
