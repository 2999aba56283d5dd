/* trace/event_copy.h - an event with texts, frames and masks of its own: for who keeps events longer than their maker does. */
#ifndef NUMALENS_TRACE_EVENT_COPY_H
#define NUMALENS_TRACE_EVENT_COPY_H

#include "wire/event.h"

#include <stddef.h>

/* Texts are never NULL. Of frames and masks it has as many as a trace keeps. */
struct event event_copy(const struct event *event);

/* Frees what event_copy made; the event is of no use afterwards. */
void event_copy_free(struct event *event);

#endif
