/* plan/plan_table.h - a plan for one program on one machine, as the agent follows it (wire/place.h): names become ranges of binaries,
 * nodes and CPUs become sets. */
#pragma once

#include "plan/plan_file.h"

struct plan_table {             /* zeroed = none */
    int fd;                     /* of the file that the agent maps */
    char path[64];              /* it, for PLACE_ENVIRONMENT; as long as this process lives */
    struct place_table *shared; /* the program may write anything into it: nothing in it says where something is */
    size_t bytes, entries_at;   /* of it */
    uint32_t *places;           /* by entry of the plan: its place in `shared`, or PLAN_NOWHERE */
    size_t count;               /* of the plan's entries */
    char **reasons;             /* by entry of the plan: why it has none, or NULL */
};

#define PLAN_NOWHERE UINT32_MAX

struct plan_machine {
    const struct topology *topology;
    const struct placement_limits *limits;
    bool maps; /* nodes that are not here become others: the n-th of the plan the n-th here, from the start again */
};

/* `program`: the path of the binary that is run. -EINVAL with `err` for a node that this machine does not have; names that are not found
 * are no failure: the entry has a reason then. */
int plan_table_make(struct plan_table *table, const struct placement_plan *plan, const char *program,
                    const struct plan_machine *machine, struct error *err);

/* Whether the agent has anything to do. */
bool plan_table_is_empty(const struct plan_table *table);
void plan_table_free(struct plan_table *table);

/* What became of an entry. `reason`: "" when all of it was placed; the caller frees it. */
struct plan_result {
    bool applied;
    const char *by; /* "memory policy", "first touch", "affinity", or "" */
    uint64_t count, bytes, failed, huge_bytes;
    char *reason;
};
struct plan_result plan_result(const struct plan_table *table, const struct placement_plan *plan, size_t entry);
