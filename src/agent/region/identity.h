/* agent/region/identity.h - the numbers by which the recorder knows this process and its threads.
 *
 * In another PID namespace they are not those that getpid() and gettid() say. They can be had through the recorder's own
 * /proc, where that is mounted, or by asking the recorder (agent/region/reach.h). */
#pragma once

#include "agent/region/reach.h"

struct identity {
    uint32_t pid, parent; /* parent: of a fork's child, who it is a copy of */
    bool foreign;         /* getpid() says something else than `pid` */
};

/* Written when the agent attaches and after fork, by the only thread there is. */
extern struct identity identity;

/* Who this is, with the region just mapped; false when that cannot be known. */
bool identity_attach(const struct reached *reached);

/* The same in a fork's child. */
bool identity_forked(void);

/* This thread's number to the recorder. Safe in handlers. With `*local` not 0 it is only its number in its own namespace. */
uint32_t identity_tid(uint32_t pid, uint32_t tid, uint32_t *local);
