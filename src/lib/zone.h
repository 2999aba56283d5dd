/* lib/zone.h - everything that the library acquired for one trace: memory, files, handles of other libraries. It is what lets
 * a public function fail when memory runs out: the call is left half-way (base/mem.h), nothing that it was at work on is
 * touched again, and the zone gives everything back.
 *
 * The linker leads the library's own calls of malloc(), open() and their like here (src/lib/meson.build). What is acquired
 * while a zone is entered is noted in it, and what is released leaves it. Without a zone nothing is noted. */
#ifndef NUMALENS_LIB_ZONE_H
#define NUMALENS_LIB_ZONE_H

#include "base/error.h"
#include "base/mem.h"
#include "numalens/flow.h"

#include <stdbool.h>

struct zone;

struct zone *zone_new(void); /* NULL: there is no memory */

/* The thread's zone, or NULL for none; returns the one before. */
struct zone *zone_enter(struct zone *zone);

/* Forgets what was noted, which lives on; or releases all of it. NULL is fine. Not while it is entered. */
void zone_forget(struct zone *zone);
void zone_release(struct zone *zone);

/* A call from outside: where to go back to when memory runs out, and which zone was there before. */
struct zone_call {
    struct mem_rescue rescue;
    struct zone *before;
    bool *failed;
};

void zone_call_begin(struct zone_call *call, struct zone *zone, bool *failed);
void zone_call_end(struct zone_call *call);
bool zone_call_failed(struct zone_call *call); /* true */

/* First in a public function: everything up to its end is one call. When memory runs out in it, or did before (`*failed`),
 * the function returns `otherwise`. */
#define zone_call(zone, failed, otherwise)                                                                             \
    if (*(failed))                                                                                                     \
        return otherwise;                                                                                              \
    __attribute__((cleanup(zone_call_end))) struct zone_call zone_call_;                                               \
    zone_call_begin(&zone_call_, zone, failed);                                                                        \
    if (mem_rescued(&zone_call_.rescue) && zone_call_failed(&zone_call_))                                              \
    return otherwise

/* Fills `err`, which may be NULL. Returns -ENOMEM. */
int zone_no_memory(nlens_error *err);

#endif
