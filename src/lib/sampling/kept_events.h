/* lib/sampling/kept_events.h - the events that are not samples, kept for as long as the process lives: a session may be made at any
 * time, and its file begins with what the process is made of. Guarded by the engine. */
#pragma once

#include "base/array.h"
#include "wire/event.h"

struct kept {
    array_of(struct event) events; /* with texts and frames of their own */
    array_of(uint64_t) ips;        /* by a call chain's number: where it happened */
};

/* Copies the event. Not for samples and losses. */
void kept_add(struct kept *kept, const struct event *event);

/* Where a call chain begins; 0 when it is not known. */
uint64_t kept_ip(const struct kept *kept, uint32_t stack);
