/* migrate/migrate_text.h - what `numalens migrate` says: a line for each interval, a summary, JSON (docs/json.md). */
#pragma once

#include "base/json.h"
#include "migrate/loop.h"

#include <stdio.h>

/* One line, without the command's name. */
void print_interval(FILE *out, const struct loop_interval *interval, bool dry_run);

/* Each line begins with `prefix`. `cpu_ns`: of the program in all, 0 when not known. */
void print_summary(FILE *out, const char *prefix, const struct loop_summary *summary, bool dry_run, uint64_t cpu_ns);

/* Inside an array, and inside an object. */
void print_interval_json(struct json *json, const struct loop_interval *interval, uint64_t origin_ns);
void print_summary_json(struct json *json, const struct loop_summary *summary, uint64_t cpu_ns);
