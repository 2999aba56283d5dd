/* count/machine.h - what plans ask of a machine: its nodes, and where each CPU lies. */
#ifndef NUMALENS_COUNT_MACHINE_H
#define NUMALENS_COUNT_MACHINE_H

#include "count/plan.h"

enum { MACHINE_CPUS_MOST = 8192 };

struct machine_cpu {
    int32_t node;         /* index into nodes, -1: none, or not there */
    int32_t package, die; /* -1: not told */
    int32_t cache3;       /* id of its level 3 cache */
};

struct machine {
    const char *root;
    char *sysfs;
    array_of(int32_t) nodes; /* the kernel's numbers, in order */
    array_of(struct machine_cpu) cpus;
};

void machine_load(struct machine *machine, const char *root);
void machine_free(struct machine *machine);

/* A file's first line without its newline, to be freed; NULL when there is none. */
char *machine_line(const struct machine *machine, const char *format, ...) __attribute__((format(printf, 2, 3)));
int64_t machine_number(const struct machine *machine, int64_t otherwise, const char *path);

/* Calls `see` for each number of "0-3,8". False when the text is no such list. */
bool machine_list(const char *text, void (*see)(void *context, uint32_t number), void *context);

/* Rows: first one for each node, then machine_rows_join for all CPUs that share a counter. The nodes' rows are in
 * `row_of`, by index of the node; machine_rows_make turns them into the plan's. */
struct machine_rows {
    uint32_t *row_of;
};
void machine_rows_init(struct machine_rows *rows, const struct machine *machine);
void machine_rows_join(struct machine_rows *rows, const struct machine *machine, uint32_t a, uint32_t b);
void machine_rows_make(struct machine_rows *rows, const struct machine *machine, struct count_plan *plan);

#endif
