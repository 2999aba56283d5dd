/* exchange/export/export.h - a recording for other tools: the same samples, names and totals as the report's (docs/export.md).
 *
 * A format is a row of a table: its name, and a function that writes a flow to a stream. What other tools show of it is up
 * to them; what is not known is never written as 0. */
#pragma once

#include "exchange/export/tally.h"
#include "exchange/moca_export.h"
#include "flow/flow.h"

#include <stdio.h>

struct export_options {
    enum tally_value value; /* of formats that have room for one: TALLY_SAMPLES unless asked for */
    const char *fields;     /* of formats with one line a sample: "time,tid,addr"; NULL for the usual ones */
    bool without_head;      /* of the same: no line with the names of the fields */
    bool for_terminal;      /* of CSV, which else has names as they are: safe ones (base/text.h) */
};

typedef int export_write(const struct flow *flow, const struct export_options *options, FILE *out, struct error *err);

/* Of pages, which need no flow. */
typedef int export_write_pages(struct trace_reader *reader, FILE *out, struct moca_export *result, struct error *err);

/* Of events as they are in the trace; `count` gets their number. */
typedef int export_write_events(struct trace_reader *reader, FILE *out, uint64_t *count, struct error *err);

struct export_format {
    const char *name, *line; /* line: what it is and what opens it */
    export_write *write;     /* of samples; NULL: of pages or events, or not built in, and `missing` says why */
    export_write_pages *write_pages;
    export_write_events *write_events;
    const char *missing;
    bool binary;     /* not for terminals */
    bool one_value;  /* --value */
    bool has_bytes;  /* one of the values is bytes */
    bool has_fields; /* --fields, --no-header */
};

/* All of them, with one of name NULL behind the last. */
extern const struct export_format export_formats[];

/* NULL when there is none of that name. */
const struct export_format *export_format_named(const char *name);

export_write export_text, export_folded, export_csv, export_speedscope, export_callgrind, export_pprof, export_sqlite,
    export_firefox, export_perfetto;
export_write_events export_events;
