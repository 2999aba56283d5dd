/* view/refresh.h - one refresh of a live view: rows as in the report, of one interval. */
#pragma once

#include "view/view.h"

struct view_refresh {
    double time;      /* its end, in seconds since 1970 */
    uint32_t pid;     /* the process that is looked at; of several, the first */
    const char *name; /* of its program */
};

/* Objects, threads and nodes: tables, or with options->json one line. */
int view_refresh(const struct flow *flow, const struct view_refresh *refresh, const struct view_options *options,
                 FILE *out, struct error *err);

/* The same as one page in OpenMetrics' text format. */
int view_metrics(const struct flow *flow, const struct view_refresh *refresh, const struct view_options *options,
                 FILE *out, struct error *err);

/* Accesses from node to node. */
int view_nodes(const struct flow *flow, const struct view_options *options, FILE *out, struct error *err);

struct view_screen_row {
    uint32_t id;   /* the index of an object, site, thread and so on */
    uint64_t key;  /* the same row in another interval has the same */
    double remote; /* part of its accesses; negative: not known */
};

/* One table, for a screen: a line of headings, then a line for each of options->limit rows. Fills as many `shown` and returns their
 * number; negative with `err`. */
long view_screen(const struct flow *flow, enum view_table table, const struct view_options *options,
                 struct view_screen_row *shown, FILE *out, struct error *err);
