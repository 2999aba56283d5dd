/* agent/environment.h - the agent's entries in the environment: read, and taken out again. */
#ifndef NUMALENS_AGENT_ENVIRONMENT_H
#define NUMALENS_AGENT_ENVIRONMENT_H

#include <stdbool.h>
#include <stdint.h>

struct environment_region {
    uint64_t pid, fd, nonce;
};

/* Reads NUMALENS_REGION. False when it is absent or malformed. */
bool environment_read(char *const *environment, struct environment_region *found);

/* Takes NUMALENS_REGION out, and of LD_PRELOAD exactly the entry that names this library. Edits in place; allocates
 * nothing. */
void environment_strip(char **environment);

#endif
