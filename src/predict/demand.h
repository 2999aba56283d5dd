/* predict/demand.h - what a program asks of memory, apart from the machine that it was recorded on.
 *
 * The recording is cut into phases, in each of which the same threads run. Of each thread in each phase: CPU time, bytes from
 * memory, and loads that wait for memory, burst by burst, with the part of the object that they go to. Pure data: tests make it by hand. */
#pragma once

#include "base/array.h"
#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

struct flow;
struct traffic;

#define DEMAND_NONE UINT32_MAX

enum { DEMAND_NEAR = 4 };

struct demand_cell {
    uint32_t thread, phase; /* of `threads`; in order of phases */
    uint32_t object, part;  /* numbered from 0; DEMAND_NONE when not known. A part belongs to one object */
    int home;               /* node; -1 when not known */
    bool stores;            /* into the object */
    bool settled;           /* nothing was met any more that stores into the object, from here on */
    double bytes, written;  /* in the phase; `written` is part of `bytes` */
    double lower_bound;     /* bytes, at least: long bursts may be too short for the cache */
    double loads, load_s;   /* that wait for memory; and how long, one after the other, where it was recorded */
    uint32_t near_count;
    uint32_t near[DEMAND_NEAR]; /* threads of other bursts that are next to it in the object, the nearest first */
};

struct demand_thread {
    uint32_t tid;
    uint32_t node;
    double error; /* of its bytes, relative: two standard errors, and what the estimate is off by */
};

struct demand {
    uint32_t node_count, phase_count, object_count, part_count;
    array_of(struct demand_thread) threads;
    array_of(struct demand_cell) cells;
    uint32_t *number_of; /* of a flow's object: its number here, DEMAND_NONE without bytes; NULL where none is known */
    uint32_t flow_objects; /* that it has */
    double *cpu_s;         /* phase_count * threads: CPU time in user code; 0: it does not run */
};

/* Of a recording, with the nodes of `flow`. NULL with `err`, which names the remedy, when its traffic is not known. */
struct demand *demand_make(const struct flow *flow, const struct traffic *traffic, struct error *err);

void demand_free(struct demand *demand);

/* Of its bytes, the share whose home nodes are not known. */
double demand_unknown_homes(const struct demand *demand);

/* demand_near.c: fills `near` of all cells, for demand.c. `rows` has their object, address and burst, in their order. */
struct demand_place {
    uint64_t addr;
    uint32_t object, thread, burst, cell;
};
void demand_find_near(struct demand *demand, struct demand_place *rows);
