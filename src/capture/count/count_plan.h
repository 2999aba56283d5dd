/* capture/count/count_plan.h - which counters count the memory traffic of which node on a machine, read from its sysfs and procfs only.
 *
 * A plan is a list of counters, each with the row and the column it adds to. Making plans opens nothing and needs no
 * privilege: `root` may be another machine's files in a folder. Whether the counters can be had is capture/count/count_session.h's
 * business. A row is one node, or several nodes whose traffic no counter distinguishes. */
#pragma once

#include "base/array.h"

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>

enum count_source { COUNT_UNCORE, COUNT_RESCTRL, COUNT_NUMASTAT, COUNT_SOURCES };

enum count_what {
    COUNT_READ,
    COUNT_WRITE,
    COUNT_TOTAL,   /* both, where the hardware does not distinguish them */
    COUNT_LOCAL,   /* of the traffic: from or to the node itself, */
    COUNT_REMOTE,  /* and from or to others */
    COUNT_HIT,     /* numastat: allocations that wanted this node and got it, */
    COUNT_MISS,    /* that wanted another and got this, */
    COUNT_FOREIGN, /* that wanted this and got another, */
    COUNT_NEAR,    /* made here by CPUs of this node, */
    COUNT_FAR,     /* and by CPUs of others */
    COUNT_NET,     /* bytes in use, compared with the start; falls too */
    COUNT_WHATS
};

/* Where the counting is done, and so what a row means. */
enum count_side {
    COUNT_AT_MEMORY,     /* traffic of the node's memory, whoever causes it */
    COUNT_AT_CPUS,       /* traffic that the node's CPUs cause, wherever the memory is */
    COUNT_AT_ALLOCATION, /* pages handed out, no traffic at all */
};

struct count_row {
    array_of(int32_t) nodes; /* the kernel's numbers, in order */
};

struct count_counter {
    enum count_what what;
    uint32_t row;
    double scale;   /* from events to the column's unit; below zero for what counts down */
    bool optional;  /* the plan is good without it */
    char name[128]; /* "uncore_imc_0/cas_count_read/", or the file's path */

    struct perf_event_attr attr; /* `path` is NULL */
    int32_t cpu;

    char *path; /* a file that holds a number, or lines "name number" */
    const char *field;
};

struct count_plan {
    enum count_source source;
    enum count_side side;
    bool in_bytes;                   /* reads, writes, total, local and remote; else events of the hardware */
    char *devices;                   /* "uncore_imc", for people */
    uint32_t whats;                  /* columns that have counters, a bit for each */
    char *lacks;                     /* NULL, or why there is nothing to count: cause and remedy */
    char *note;                      /* NULL, or a limit to be reported with the figures */
    array_of(struct count_row) rows; /* every node is in one, also those without counters */
    array_of(struct count_counter) counters;
};

/* All that may be had on the machine whose files are under `root` ("" for this one), best first. Those that lack
 * something are there too, for their reasons. The last one, numastat, is there wherever there are nodes. */
struct count_plans {
    array_of(struct count_plan *) list;
};

void count_plans_make(struct count_plans *plans, const char *root);
void count_plans_free(struct count_plans *plans);

const char *count_source_name(enum count_source source); /* "uncore" */
const char *count_what_name(enum count_what what);       /* "read", as in JSON */

/* "0", "0-1", "0,2"; in `text`. */
void count_row_label(const struct count_row *row, char *text, size_t size);
