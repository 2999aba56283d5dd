/* view/problems/problems.h - what the reports of sharing, latency and balance have in common; private to src/view. */
#pragma once

#include "analysis/facts/accesses.h"
#include "view/report/rows.h"

struct json;
struct table;

/* One of the reports: into the open object of `json`, or as text when that is NULL. */
void sharing_show(const struct accesses *accesses, const struct view_options *options, struct json *json, FILE *out);
void latency_show(const struct accesses *accesses, const struct view_options *options, struct json *json, FILE *out);
void balance_show(const struct accesses *accesses, const struct view_options *options, struct json *json, FILE *out);

/* The row of a thing: of a site, of an object, of all stacks of a process. */
struct row thing_row(const struct accesses *accesses, uint32_t thing);
bool thing_passes(const struct accesses *accesses, uint32_t thing, const struct view_options *options);

/* TL, TN, AL, and all accesses, into the open object or as one named `key`. */
void put_tally(struct json *json, const char *key, const struct access_tally *tally);

/* Cells TL, TN, AL; "-" without any. */
void tally_columns(struct table *table, const char *total, const char *number, const char *mean);
void tally_cells(struct table *table, const struct access_tally *tally);

/* What a thing is, into the open object: kind, name, site, file, line, objects. */
void put_thing(struct json *json, const struct accesses *accesses, uint32_t thing);

void problem_heading(const struct view_options *options, FILE *out, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* "worker one (101)" */
void thread_cell(struct table *table, const struct flow *flow, uint32_t thread);

/* The user's, or 100, 300, 1000. */
const uint32_t *view_thresholds(const struct view_options *options, unsigned *count);

int node_os(const struct flow *flow, int node); /* the kernel's number, or -1 */
