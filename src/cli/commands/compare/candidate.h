/* cli/commands/compare/candidate.h - a way to place a program's threads and memory, as `compare` and `optimize` try it and `apply` follows
 * it: one of the kernel's (topology/placement.h), kernel.numa_balancing on or off, or a plan.
 *
 *     interleave, weighted, local, ...    as topology/placement.h names them
 *     balancing-on, balancing-off
 *     plan:FILE */
#pragma once

#include "cli/commands/compare/compare_child.h"
#include "plan/flexmalloc.h"
#include "plan/plan_table.h"

#define CANDIDATE_NAMES                                                                                                \
    "cluster, distributed, mem0-cpu0, mem0-cpu1, interleave, weighted, local, balancing-on, balancing-off, plan:FILE"

struct candidate { /* CANDIDATE_NONE: as the program is started anyway */
    char *name;
    struct placement placement; /* whether it is possible here, and in words what it does; and unless `as_is` how */
    bool as_is;                 /* the kernel is asked for nothing */
    int balancing;              /* kernel.numa_balancing while it runs; -1: as it is */
    struct placement_plan plan; /* or a plan ... */
    struct plan_table table;    /* ... as the agent follows it; fd -1: there is none */
};
#define CANDIDATE_NONE ((struct candidate){.as_is = true, .balancing = -1, .table = {.fd = -1}})

struct candidates_here { /* what they are worked out for */
    const struct topology *topology;
    const struct placement_limits *limits;
    const struct plan_allocators *allocators; /* or NULL */
    const char *program;                      /* the path of its binary */
    char *agent, *refused;                    /* from candidate_agent */
};

/* Whether that is the name of one. */
bool candidate_is_name(const char *name);

/* Fills it; whether it is possible here, and why not, is in its placement. Negative with `err` for a plan that cannot be read or does not
 * suit this machine. */
int candidate_make(struct candidate *candidate, const char *name, const struct candidates_here *here,
                   struct error *err);

/* Likewise of a plan, which becomes its own, under a name. */
int candidate_take_plan(struct candidate *candidate, const char *name, struct placement_plan *plan,
                        const struct candidates_here *here, struct error *err);
void candidate_free(struct candidate *candidate);

/* The path of the agent that follows plans, if it can go into the program, else why it cannot; the caller frees both. Negative with `err`
 * and the exit status when the program cannot be run at all. */
int candidate_agent(char **command, char **agent, char **refused, int *exit_status, struct error *err);

/* compare_child_run with all that is the candidate's but `placement`, which may be NULL. `agent`: put it into the program, for its plan;
 * NULL for a command that does so itself, such as record. */
int candidate_run(const struct candidate *candidate, struct compare_child *child, const struct placement *placement,
                  char **command, const char *agent, int out, int *status, double *seconds, struct error *err);
