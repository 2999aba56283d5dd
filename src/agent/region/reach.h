/* agent/region/reach.h - how the agent gets at the recorder's memory: through /proc where that shows the recorder, else over an
 * abstract socket. Neither leaves a descriptor open. */
#pragma once

#include "agent/environment.h"
#include "wire/region.h"

struct reached {
    uint64_t proc_device;      /* of the /proc that shows the recorder under its own number; 0: none does */
    struct wire_answer answer; /* when asked over the socket; else zeroes */
};

/* Maps the region, or NULL. */
struct wire_region *reach_region(const struct environment_region *where, struct reached *reached);

/* Only its header, or NULL. A filter may be there that kills: no system call is made but those that the dynamic linker has just
 * made, openat, read, mmap and close. */
struct wire_region *reach_header(const struct environment_region *where);

/* Asks the recorder who we are. Safe wherever system calls are. */
bool reach_ask(uint64_t nonce, struct wire_answer *answer);

/* The device of what is mounted at /proc, or 0. */
uint64_t reach_proc_device(void);
