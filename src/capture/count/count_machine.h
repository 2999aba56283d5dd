/* capture/count/count_machine.h - what plans ask of a machine: its nodes, and the node and package of each CPU. */
#pragma once

#include "capture/count/count_plan.h"

enum { COUNT_CPUS_MOST = 8192 };

struct count_cpu {
    int32_t node;         /* index into nodes, -1: none, or not there */
    int32_t package, die; /* -1: not reported */
    int32_t cache3;       /* id of its level 3 cache */
};

struct count_machine {
    const char *root;
    char *sysfs;
    array_of(int32_t) nodes; /* the kernel's numbers, in order */
    array_of(struct count_cpu) cpus;
};

void count_machine_load(struct count_machine *machine, const char *root);
void count_machine_free(struct count_machine *machine);

/* Rows: first one for each node, then count_machine_rows_join for all CPUs that share a counter. The nodes' rows are in
 * `row_of`, by index of the node; count_machine_rows_make makes the plan's of them. */
struct count_rows {
    uint32_t *row_of;
};
void count_machine_rows_init(struct count_rows *rows, const struct count_machine *machine);
void count_machine_rows_join(struct count_rows *rows, const struct count_machine *machine, uint32_t a, uint32_t b);
void count_machine_rows_make(struct count_rows *rows, const struct count_machine *machine, struct count_plan *plan);
