/* view/report/report.h - the two faces of a report; private to src/view. */
#pragma once

#include "view/report/rows.h"

struct findings;

/* Columns of a name that stands alone on its line; what is longer is cut in the middle. JSON has all of it. */
enum { LONGEST_NAME = 1000 };

int report_text(const struct flow *flow, const struct view_options *options, FILE *out, struct error *err);
int report_json(const struct flow *flow, const struct view_options *options, FILE *out, struct error *err);
int rows_text(const struct rows *rows, const struct view_options *options, FILE *out, struct error *err);
int rows_json(const struct rows *rows, const struct view_options *options, FILE *out, struct error *err);

/* The file for a command that is suggested: " FILE", safe for terminals, or "" where it is found without. To be freed. */
char *report_file(const struct view_options *options);

/* What every JSON report has on top, into the open object. */
struct json;
void rows_json_array(struct json *json, const struct rows *rows, const char *key); /* key: NULL for the table's own */
void report_json_head(struct json *json, const struct flow *flow, const struct view_options *options);

/* Samples from node to node, and bytes where they are known, into the open object; `traffic` may be NULL. */
void report_json_traffic(struct json *json, const struct flow *flow, const struct row_facts *facts,
                         const struct traffic *traffic);

/* patterns_text.c: what the report says of the whole and the worst few findings in short. NULL where nothing can be
 * remote: one node, or no home node known. Negative with `err` when the trace failed. */
int report_judge(struct findings **findings, const struct flow *flow, const struct view_options *options,
                 struct error *err);
void report_verdict(const struct findings *findings, const struct view_options *options, FILE *out);
void report_findings(const struct findings *findings, const struct view_options *options, FILE *out);

/* verdict_json.c: the verdict, and the findings with their gains, into the open object. */
void report_json_verdict(struct json *json, const struct flow *flow, const struct findings *findings);

/* type_view.c */
int view_types(const struct flow *flow, const struct view_options *options, FILE *out, struct error *err);

/* Flushes; negative with `err` when something could not be written. */
int report_flush(FILE *out, struct error *err);
