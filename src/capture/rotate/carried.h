/* capture/rotate/carried.h - what each file of a recording in several files begins with: all that later events depend on, as it is
 * at that moment. Processes, threads, modules, maps, live blocks with their call chains, pages.
 *
 * Sees every event on its way to the trace. Times stay what they were: a block that was allocated an hour ago says so in
 * each file. Takes about 80 bytes for a live block or a page that was touched. */
#pragma once

#include "wire/event.h"

#include <stdbool.h>
#include <stddef.h>

struct carried;

/* `all_threads`: threads that ended are carried too, since a simulated topology assigns threads in the order of their start. */
struct carried *carried_new(bool all_threads);
void carried_free(struct carried *carried);

void carried_see(struct carried *carried, const struct event *event);

/* Who takes what is carried. */
struct carried_taker {
    void *context;
    void (*put)(void *context, const struct event *event); /* the event is good until it returns */
    unsigned each;                                         /* after so many events, */
    void (*breathe)(void *context); /* is called: more events may come meanwhile, and are handed out too */
};

/* Hands out what is carried, and what comes meanwhile. */
void carried_replay(struct carried *carried, const struct carried_taker *taker);
