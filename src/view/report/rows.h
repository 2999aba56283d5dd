/* view/report/rows.h - the rows that text and JSON show, and the facts behind them; private to src/view and src/page. */
#pragma once

#include "analysis/facts/facts.h"
#include "base/array.h"
#include "base/map64.h"
#include "base/interval.h"
#include "view/view.h"

#include <string.h>

struct row_thread {
    uint32_t thread;
    uint64_t samples, reads, writes, remote;
};

struct row_use { /* objects of one site that a line accesses */
    uint32_t object;
    uint64_t samples, remote;
};

struct
    row { /* an object (of stacks, all of a process), or a site with its objects, or a thread, function, line, process */
    uint32_t id;     /* object, site, thread, function or process index; FLOW_NONE: a group that nobody allocated */
    uint32_t object; /* itself, or one that stands for the group */
    uint32_t site;
    uint8_t kind;
    const char *name, *label, *file, *module, *via; /* label: of the site, or NULL */
    const char *directory;                          /* of lines and functions: where the file's compiler ran */
    const char *variable;                           /* what the source calls it, or "" */
    const char *type;                               /* that the variable is declared with, or "" */
    const char *blocks_of; /* [heap], [arena]: the sites of the blocks next to its samples; or NULL */
    uint32_t line, pid, process, alloc_thread;
    uint64_t size, count, bytes, start, end;
    uint64_t offset; /* file: where in the file it begins; of several, the first */
    struct flow_totals totals;
    const char *text; /* source: the line itself */
    bool is_bare;     /* source: a line without samples, which has no figures */

    /* filled by rows_facts */
    array_of(struct row_thread) threads; /* most samples first */
    struct map64 thread_index;
    uint64_t *homes, *from;        /* samples by home node; by the node that they come from */
    array_of(struct row_use) uses; /* lines: most samples first */
    struct map64 use_index;
    array_of(uint32_t) latencies;
    uint32_t p95;
    bool has_p95;
};

struct row_stack { /* one thread's stack of those that an object row stands for */
    uint32_t object;
    uint64_t samples, remote, by_others; /* by_others: from threads that do not own it */
};

struct rows {
    enum view_table table;
    const struct flow *flow;
    array_of(struct row) items;
    struct strtab *arena_texts;
    size_t matching;            /* before the limit */
    uint64_t samples, remote;   /* of the whole flow: what shares are of */
    uint32_t *row_of;           /* object (of threads and processes thread, of lines line) -> row, or FLOW_NONE */
    struct object_names *names; /* of lines' objects, or NULL */
    size_t row_of_count;
    array_of(uint32_t) stacks;             /* every stack object */
    array_of(struct row_stack) each_stack; /* of the one object that is shown, most samples first */
    struct facts *facts;                   /* of everything, or NULL; its own */
    bool one_object;
    const struct rows *accessed_at;  /* with one_object: the lines that access it; not its own */
    struct traffic_bytes *row_bytes; /* types and fields: by the rows' ids, or NULL; its own */
    struct traffic *traffic; /* bytes from memory, where they were recorded and are shown, or NULL; not its own */
};

/* Facts of the whole that need every access. */
struct row_facts {
    uint32_t nodes;
    uint64_t *matrix;                                          /* nodes * nodes: from, home */
    uint64_t *thread_nodes;                                    /* threads * nodes: home */
    uint64_t local_sum, local_count, remote_sum, remote_count; /* latencies */
    uint64_t levels[16];                                       /* by enum sample_level */
};

/* Rows of one table, filtered, sorted, limited. `sort` overrides the options' unless NULL. */
void rows_make(struct rows *rows, const struct flow *flow, enum view_table table, const struct view_options *options,
               const char *sort, size_t limit);
void rows_one_object(struct rows *rows, const struct flow *flow, uint32_t object); /* of a stack, all of its process */
void rows_free(struct rows *rows);

/* Reads every access once for the rows' threads, homes and percentiles, and (unless NULL) the whole's. */
int rows_facts(struct rows *rows, struct row_facts *facts, struct error *err);
void row_facts_free(struct row_facts *facts);

/* Lines that access the objects of `of`, most samples first, with facts; totals are of these accesses alone. */
int rows_accessed_at(struct rows *lines, const struct rows *of, struct error *err);

/* problems/traffic_report.c: bytes from memory, or NULL when they were not recorded; of one row of objects, sites, threads or
 * functions, NULL when it has none of its own: one of several objects of a site */
struct traffic_bytes;
struct view_options;
struct traffic *rows_traffic(const struct flow *flow, const struct view_options *options);
const struct traffic_bytes *row_traffic(const struct rows *rows, const struct row *row);

/* row_arenas.c: which sites the blocks in [heap] and [arena] come from. */
void rows_arenas(struct rows *rows);

/* Whether rows are made of threads, not of objects. */
static inline bool rows_by_thread(const struct rows *rows)
{
    return rows->table == VIEW_THREADS || rows->table == VIEW_PROCESSES;
}

/* tables_text.c: the rows as a table; an object's name as one cell */
struct table;
void tables_print(const struct rows *rows, const struct view_options *options, unsigned indent, FILE *out);
void table_object(struct table *table, const struct flow *flow, const struct row *row);

/* An object's row as it is; `row` into its group's. */
struct row rows_object(const struct flow *flow, uint32_t index);
struct row rows_site(const struct flow *flow, uint32_t site, uint32_t object); /* `object`: one of its, or FLOW_NONE */
struct row rows_thread(const struct flow *flow, uint32_t index);
struct row rows_function(const struct flow *flow, uint32_t index);
struct row rows_line(const struct flow *flow, uint32_t index);

void row_note(struct row *row, const struct flow_access *access, uint32_t nodes); /* threads, nodes, latencies */
uint64_t row_writers(const struct row *row);                                      /* threads that write */
void rows_sum_up(struct rows *rows);                                              /* once all are noted */
void rows_lines_begin(struct rows *rows, const struct flow *flow);                /* all of them, without totals */
void rows_lines_end(struct rows *rows); /* those that got any, most samples first */
const char *rows_use_name(const struct rows *rows, const struct row_use *use);
struct row rows_process(const struct flow *flow, uint32_t index);

/* Processes that run one program for one parent, in flow's order; the caller frees the items. */
struct rows rows_groups(const struct rows *processes);

void rows_add(struct row *group, const struct row *row);

/* row_stacks.c: all stacks, and by process the one that stands for its stacks; an object's row, a stack's with all of its
 * process; what is shown of each stack when one object is shown */
void rows_find_stacks(struct rows *rows, struct map64 *leads);
struct row rows_with_stacks(const struct rows *rows, uint32_t index);
void rows_each_stack(struct rows *rows);

/* Whether the filter lets a row through; `samples`: of the whole, what shares are of. */
bool row_passes(const struct view_filter *filter, const struct row *row, uint64_t samples);

/* whole.c: "ns" or "cycles" */
const char *latency_unit(const struct flow *flow);
