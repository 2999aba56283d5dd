/* topology/placement.h - where a program's threads and memory go, as LaProf's authors tried by hand (section IV; SPEC L12).
 *
 *     cluster      all threads on one node's CPUs, memory where it is touched
 *     distributed  threads assigned to the nodes in turn, on as many CPUs as cluster has; memory where it is touched
 *     mem0-cpu0    memory on the first node, threads on its CPUs
 *     mem0-cpu1    memory on the first node, threads on the second one's CPUs
 *     interleave   pages on all nodes in turn, threads where the kernel puts them
 *     weighted     likewise, but as many on each as the kernel's weights say (Linux 6.9)
 *     local        memory where it is touched, threads where the kernel puts them
 *
 * What that means here is worked out from a topology, real or simulated, and from what this process may use. The first
 * node is the first that has CPUs and memory to use; the second one the next such. */
#pragma once

#include "topology/topology.h"

enum {
    PLACEMENT_CPUS = 1024, /* CPUs and nodes beyond are left alone */
    PLACEMENT_WORDS = PLACEMENT_CPUS / 64,
    PLACEMENT_ASSIGNED = 64, /* nodes that threads are assigned to at most */
};

enum placement_kind {
    PLACEMENT_CLUSTER,
    PLACEMENT_DISTRIBUTED,
    PLACEMENT_MEM0_CPU0,
    PLACEMENT_MEM0_CPU1,
    PLACEMENT_INTERLEAVE,
    PLACEMENT_WEIGHTED,
    PLACEMENT_LOCAL,
    PLACEMENTS
};

enum placement_memory { PLACEMENT_TOUCHED, PLACEMENT_BOUND, PLACEMENT_INTERLEAVED, PLACEMENT_BY_WEIGHTS };

struct placement_set { /* of CPUs or nodes, by the kernel's numbers */
    uint64_t words[PLACEMENT_WORDS];
};

struct placement_limits { /* what this process may use */
    struct placement_set cpus, nodes;
    uint8_t weights[PLACEMENT_CPUS]; /* of nodes, for weighted interleaving; 0: the kernel has none */
    uint32_t bandwidths
        [PLACEMENT_CPUS]; /* of nodes, from the nearest CPUs, in MiB/s as the firmware has them; 0: not known */
    char refused[160];    /* why memory cannot be placed at all; "" when it can */
};

struct placement {
    enum placement_kind kind;
    bool possible;
    char text[320]; /* what it does, in words; or why it is not possible here */

    /* On a real machine. */
    struct placement_set cpus; /* of all threads */
    uint32_t cpu_count;
    enum placement_memory memory;
    struct placement_set nodes; /* of memory, unless PLACEMENT_TOUCHED */
    uint32_t assigned;          /* nodes that threads are assigned to, each in turn; 0: the kernel decides */
    struct placement_set assign[PLACEMENT_ASSIGNED];

    /* On a simulated one: as --assign and --homes say it. */
    char simulate_assign[TOPOLOGY_ASSIGN_TEXT], simulate_homes[32];
};

const char *placement_name(enum placement_kind kind); /* "cluster", ... */

/* Of a name; PLACEMENTS when it is none. */
enum placement_kind placement_named(const char *name);

/* What this process may use now. */
void placement_limits_here(struct placement_limits *limits);

/* How many nodes have memory that may be used. `limits` as below. */
uint32_t placement_memory_nodes(const struct topology *topology, const struct placement_limits *limits);

/* Always fills `placement`; look at `possible`. `limits` is not looked at for a simulated topology and may be NULL. */
void placement_work_out(struct placement *placement, enum placement_kind kind, const struct topology *topology,
                        const struct placement_limits *limits);

/* Sets assign and homes of a simulated topology. */
int placement_simulate(const struct placement *placement, struct topology *topology, struct error *err);

/* Binds this thread and what it starts from now on: 0 or an errno. Makes nothing but system calls: for a child before
 * its exec. */
int placement_apply(const struct placement *placement);

static inline void placement_set_add(struct placement_set *set, uint32_t number)
{
    if (number < PLACEMENT_CPUS)
        set->words[number / 64] |= (uint64_t)1 << number % 64;
}

static inline bool placement_set_has(const struct placement_set *set, uint32_t number)
{
    return number < PLACEMENT_CPUS && (set->words[number / 64] >> number % 64 & 1);
}
