/* trace/event_copy.h - an event with texts, frames and masks of its own: for who keeps events longer than their maker does. */
#pragma once

#include "wire/event.h"

#include <stddef.h>

/* Texts are never NULL. Of frames and masks it has as many as a trace keeps. */
struct event event_copy(const struct event *event);

/* Frees what event_copy made; the event is of no use afterwards. */
void event_copy_free(struct event *event);

/* The event whose struct the agent wrote into `size` bytes of a ring, with counts and flags in range; its time is the caller's. False
 * when the agent writes no such kind, or when it cannot be one. */
bool event_from_ring(struct event *event, unsigned kind, const void *bytes, size_t size);
