/* view/view.h - reports of a flow as text for people and JSON for programs. The same rows in both.
 *
 * Text is designed: the answer first, then the evidence, then what is not known and how it was measured, then which
 * command digs deeper. JSON's fields are documented in docs/json.md and versioned. Views write to a stream and return 0,
 * or a negative code with `err` when the stream or the trace failed. */
#pragma once

#include "base/error.h"
#include "flow/flow.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct model;

enum view_table {
    VIEW_OBJECTS,
    VIEW_SITES,
    VIEW_THREADS,
    VIEW_FUNCTIONS,
    VIEW_LINES, /* that access memory */
    VIEW_TYPES, /* of objects' items */
    VIEW_PROCESSES,
    VIEW_TABLES,
    /* No tables that can be asked for: */
    VIEW_GROUPS = VIEW_TABLES, /* of processes: rows beside theirs */
    VIEW_SOURCE,               /* source text with what its lines access */
    VIEW_FIELDS,               /* of a type */
    VIEW_ALL,
};

/* What a row must be to be shown. Empty texts and zeroes ask for nothing. */
struct view_filter {
    const char *text; /* somewhere in name, site, file or module, in any case */
    int kind;         /* enum object_kind, or -1 */
    double min_share, min_remote;
    uint64_t min_samples;
    uint32_t pid; /* the flow was built with it, see flow_options */
};

enum view_map_by { MAP_BY_DEFAULT, MAP_BY_REMOTE, MAP_BY_SHARED, MAP_BY_WRITE };

struct view_options {
    bool json, color, ascii;
    bool verbose;     /* the report: all tables, all losses */
    unsigned width;   /* columns; 0: as wide as it gets */
    size_t limit;     /* rows; 0: all */
    const char *sort; /* a key of view_sort_keys, or NULL for the table's own */
    struct view_filter filter;
    const uint32_t *thresholds; /* of latencies, rising; or NULL for the usual ones */
    unsigned threshold_count;
    bool physical;                      /* pages: in order of their frames; map: by physical address */
    bool gantt;                         /* map: each thread's memory for itself */
    unsigned height;                    /* map: rows; 0: 24 */
    enum view_map_by by;                /* map: what colours mean */
    double from_s, to_s;                /* map: since the start; to_s 0: to the end */
    const char *path;                   /* of the trace, for the commands that are suggested */
    const char *damage;                 /* what is missing in the file, or NULL */
    const struct trace_session *ending; /* or NULL */
    const struct model *machine;        /* that it is judged on, with as many nodes as the flow; or NULL */
};

/* The whole report. */
int view_report(const struct flow *flow, const struct view_options *options, FILE *out, struct error *err);

/* One table, sorted, filtered, limited. */
int view_rows(const struct flow *flow, enum view_table table, const struct view_options *options, FILE *out,
              struct error *err);

/* What is wrong, worst first: patterns with evidence and advice. */
int view_patterns(const struct flow *flow, const struct view_options *options, FILE *out, struct error *err);

/* Private and shared data; latencies and contention; how evenly threads bear remote accesses (docs/latency.md). For several
 * of them accesses are read once. JSON has the fields of one as they are, those of several each under its name. */
enum view_problem { VIEW_SHARING = 1, VIEW_LATENCY = 2, VIEW_BALANCE = 4 };
int view_problems(const struct flow *flow, unsigned which, const struct view_options *options, FILE *out,
                  struct error *err);

/* "sharing", "latency,balance" and so on; 0 when one of them is none of these. */
unsigned view_problems_named(const char *names);

/* Pages by thread and time (docs/pages.md). Sorts by its own keys. */
int view_pages(const struct flow *flow, const struct view_options *options, FILE *out, struct error *err);
const char *view_page_sort_keys(void);

/* Memory over time, drawn with letters, and the phases of the run (docs/pages.md). */
int view_map(const struct flow *flow, const struct view_options *options, FILE *out, struct error *err);

/* Bytes from memory by object, thread and node (docs/traffic.md). */
int view_traffic(const struct flow *flow, const struct view_options *options, FILE *out, struct error *err);

/* One object: its life, where it was allocated, who uses it when. -ENOENT when there is no such one. */
int view_object(const struct flow *flow, uint32_t object, const struct view_options *options, FILE *out,
                struct error *err);

/* One type: its fields and cache lines, and how they are used. -ENOENT when no sampled object is of such one. */
int view_type(const struct flow *flow, const char *name, const struct view_options *options, FILE *out,
              struct error *err);

/* The source of a file or of a function with what each line accesses. -ENOENT when no sampled line is in such one. */
int view_annotate(const struct flow *flow, const char *name, const struct view_options *options, FILE *out,
                  struct error *err);

/* "objects" and so on; VIEW_TABLES when it is none of them. */
enum view_table view_table_named(const char *name);

/* Whether a table can be sorted by `key`; and all the keys, for messages; whether `key` is one of a list of keys. */
bool view_sort_key(enum view_table table, const char *key);
const char *view_sort_keys(enum view_table table);
bool view_key_among(const char *keys, const char *key);

/* "kind=heap", "min-share=2%", "pid=12" or a text: into `filter`. `text` must outlive it. */
int view_filter_parse(struct view_filter *filter, const char *text, struct error *err);

const char *view_kind_name(unsigned kind);
const char *view_object_kind(const struct flow_object *object); /* the same; "thread-local" of a thread's own */
