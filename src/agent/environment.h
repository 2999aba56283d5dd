/* agent/environment.h - the agent's entries in the environment: read, taken out again, put back for a new program. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct
    environment_region { /* of the recorder: its number, its descriptor of the region, the system call filters on it */
    uint64_t pid, fd, nonce, filters;
};

/* Reads NUMALENS_REGION. False when it is absent or malformed. */
bool environment_read(char *const *environment, struct environment_region *found);

/* The value of the first entry of that name, which is the one that libc and the dynamic linker take; NULL without. */
const char *environment_value(char *const *environment, const char *name);

/* Takes NUMALENS_REGION out, and of LD_PRELOAD exactly the entry that names this library. Edits in place; allocates
 * nothing. */
void environment_strip(char **environment);

/* Notes under which path this library was preloaded. Called once, before main. */
void environment_note(char *const *environment);

enum environment_preload {
    PRELOAD_AGENT,   /* the new program gets the agent, or is not meant to: NUMALENS_REGION is not there */
    PRELOAD_OTHERS,  /* LD_PRELOAD names other libraries only: somebody replaced the list, and did not know of us */
    PRELOAD_NOTHING, /* LD_PRELOAD is empty or not there: somebody may have a reason to want no library at all */
};

/* What a program that is started with this environment will load. */
enum environment_preload environment_preload(char *const *environment);

/* For PRELOAD_OTHERS: the bytes that environment_put_back needs, and a copy of the environment in that room, with the
 * agent's path before the others. 0 when its path is not known. */
size_t environment_room(char *const *environment);
char *const *environment_put_back(char *const *environment, void *room);
