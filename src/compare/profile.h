/* compare/profile.h - what one run is like, under names that another run of the program has too.
 *
 * Addresses, ids and process numbers differ from run to run; names do not. A profile keeps names and sums and nothing of
 * the flow it was made of: the trace can be freed. Two entries of different runs are the same thing when their keys are
 * equal, or else, since a repair moves lines, when they are the same but for the line. */
#pragma once

#include "analysis/findings/findings.h"
#include "analysis/problems/latency.h"
#include "compare/ratio.h"

enum profile_table {
    PROFILE_OBJECTS,   /* by the name that the source gives them, or their own, and their file */
    PROFILE_SITES,     /* call chains that allocate */
    PROFILE_FUNCTIONS, /* that access memory */
    PROFILE_THREADS,   /* by name, the n-th of the same name */
    PROFILE_TABLES
};

const char *profile_table_name(enum profile_table table); /* "objects", ... */

enum { PROFILE_USERS = 4 };

struct profile_user {
    uint32_t function; /* its name in the profile's texts */
    double share;      /* of the object's accesses; 0: none */
};

struct profile_entry {
    const char *name; /* what people call it */
    const char *file; /* "" when not known */
    const char *module;
    uint32_t line;   /* 0 when not known */
    uint32_t order;  /* what distinguishes entries of equal `loose`: the line, or of threads how many came before */
    uint32_t loose;  /* number of the key without it, in the profile's texts */
    uint32_t number; /* the flow's own; of several the one with the most samples; FLOW_NONE when not known */
    uint8_t kind;    /* enum object_kind; OBJECT_KINDS of functions and threads */
    uint64_t samples, writes, remote, home_known;
    uint64_t bytes;                           /* objects: the most at once */
    double from, until;                       /* objects: their life, as parts of the run */
    struct profile_user users[PROFILE_USERS]; /* objects: functions that use it most */
    uint64_t shared[2];                       /* objects: samples on lines with false and with true sharing */
    struct ratio share;                       /* of all samples */
    struct ratio far;                         /* remote, of its samples whose home is known */
    struct ratio of_all;                      /* its remote samples, of all samples whose home is known */
    struct ratio latency;                     /* sum, by number; latencies beyond PROFILE_LONGEST count as that */
    double latency_mean;                      /* as it is */
    uint64_t latency_count;
};

enum { PROFILE_LONGEST = 2000 }; /* one interruption must not outweigh a thousand accesses */

struct profile_finding {
    enum pattern pattern;
    const char *name, *file;
    uint32_t line;
    uint32_t entry; /* in PROFILE_OBJECTS, or FLOW_NONE */
    int node;       /* of findings on a node, else -1 */
    uint64_t remote;
    double share_of_remote, lost_time_share;
    const char *evidence;
};

struct profile {
    struct strtab *texts;
    const char *path, *command, *unit, *placement; /* placement: "" when none was requested */
    uint32_t nodes;
    bool simulated;
    double duration_s, cpu_s; /* 0 when the file ends early */
    struct flow_totals totals;
    uint64_t bursts;
    uint64_t lost;                          /* samples that found a ring full: whose they were is not known */
    struct ratio all;                       /* x = n = samples of each burst */
    struct ratio far;                       /* remote, of those whose home is known */
    struct ratio latency;                   /* of all */
    struct ratio near_latency, far_latency; /* of local and of remote accesses */
    struct ratio
        *homes; /* accesses to each node's memory, of those whose home is known; then, from [nodes] on, without those to
                            sections and variables of libraries */
    int32_t *node_numbers; /* as the kernel has them */
    struct latency_histogram histogram;
    array_of(struct profile_entry) tables[PROFILE_TABLES];
    array_of(struct profile_finding) findings; /* worst first */
    bool numa_bound;
    const char *verdict;
};

/* NULL with `err` when the trace cannot be read. `path` is a name for it; `ending` may be NULL. */
struct profile *profile_make(const struct flow *flow, const char *path, const struct trace_session *ending,
                             struct error *err);

/* Likewise with findings of the same flow that are there already; the profile's are in the same order. */
struct profile *profile_make_judged(const struct flow *flow, const struct findings *findings, const char *path,
                                    const struct trace_session *ending, struct error *err);
void profile_free(struct profile *profile);

/* An entry's key without what may change, for comparing with another profile's. */
const char *profile_loose(const struct profile *profile, const struct profile_entry *entry);
