/* analysis/memory_map/phases.h - the phases of a run, found from its memory map (SPEC C20).
 *
 * A phase is a stretch of time in which the same threads do the same to the same objects. Phases follow one another and
 * cover the map's time. A run that does the same all the time has one. Nothing is to be tuned: a border stands where
 * distinguishing the two sides explains more than it costs to say so. */
#pragma once

#include "analysis/memory_map/memory_map.h"

/* What a group of threads does to one object in a phase. */
struct phase_use {
    uint32_t object; /* or FLOW_NONE: accesses that belong to none */
    uint32_t thread; /* of the group, the one with the most accesses */
    uint64_t reads, writes, remote, accesses;
};

struct phase {
    uint64_t start, end; /* [start, end) */
    char *name;          /* "main writes a, b"; "2 workers read a, b and write c"; by page faults, where no sample shows
                            it: "main is first to touch a, b"; "nothing sampled" */
    uint64_t accesses, remote;
    uint32_t threads;                /* that take part */
    array_of(struct phase_use) uses; /* by object and thread, most accesses first; the first few */
};

struct phases {
    array_of(struct phase) items; /* at least one */
};

struct phases *phases_find(const struct memory_map *map);
void phases_free(struct phases *phases);
