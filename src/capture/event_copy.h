/* capture/event_copy.h - an event with texts and frames of its own: for who keeps events longer than their maker does. */
#ifndef NUMALENS_CAPTURE_EVENT_COPY_H
#define NUMALENS_CAPTURE_EVENT_COPY_H

#include "wire/event.h"

/* Not for EVENT_PAGE, whose mask of CPUs stays its maker's. Texts are never NULL. */
struct event event_copy(const struct event *event);

/* Frees what event_copy made; the event is of no use afterwards. */
void event_copy_free(struct event *event);

#endif
