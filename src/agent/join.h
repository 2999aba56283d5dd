/* agent/join.h - the sampler in a program that asks for it: libnumalens links it, and nothing is preloaded.
 *
 * There are no hooks then, and allocations are not seen. The recorder's region has WIRE_JOINED. */
#pragma once

#include "wire/region.h"

#include <stdbool.h>

/* Why the sampler cannot be had. */
enum join_result {
    JOIN_OK,
    JOIN_TAKEN,   /* a recorder has this process already */
    JOIN_STATIC,  /* linked into the executable: its code cannot be distinguished from the program's */
    JOIN_NO_KEY,  /* the program has all of libc's first thread keys: agent/self.h */
    JOIN_REFUSED, /* the system lets no handlers be set, or no instructions be stepped */
};

/* Once per process; `region` must stay. The caller's own thread introduces the process, but gets no tick. */
enum join_result join_start(struct wire_region *region);

/* Makes sure that the thread gets ticks of config.tick_ns: 0 when it has them, 1 when it was called upon and will have
 * them, or a negative errno. Cheap when it has. */
int join_arm(uint32_t tid);

/* Whether it has. */
bool join_is_armed(uint32_t tid);

/* Reports libraries that came and went since. Not in handlers. */
void join_refresh(void);

/* Without hooks the program's handlers are not seen coming: one that it sets for a signal of the sampler's ends the
 * sampling. This begins it again, with that handler honoured like those that were there before. False when it cannot. */
bool join_keep(void);
