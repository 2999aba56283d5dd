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

/* A file's first line without its newline, to be freed; NULL when there is none. */
char *count_machine_line(const struct count_machine *machine, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
int64_t count_machine_number(const struct count_machine *machine, int64_t otherwise, const char *path);

/* Calls `see` for each number of "0-3,8". False when the text is no such list. */
bool count_machine_list(const char *text, void (*see)(void *context, uint32_t number), void *context);

/* Rows: first one for each node, then count_machine_rows_join for all CPUs that share a counter. The nodes' rows are in
 * `row_of`, by index of the node; count_machine_rows_make makes the plan's of them. */
struct count_rows {
    uint32_t *row_of;
};
void count_machine_rows_init(struct count_rows *rows, const struct count_machine *machine);
void count_machine_rows_join(struct count_rows *rows, const struct count_machine *machine, uint32_t a, uint32_t b);
void count_machine_rows_make(struct count_rows *rows, const struct count_machine *machine, struct count_plan *plan);
