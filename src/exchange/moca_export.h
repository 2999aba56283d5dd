/* exchange/moca_export.h - the pages of a trace as MOCA writes them: lines T, C, A, or its single CSV.
 *
 * A chunk is one interval of one thread. What came from MOCA is written as it was (exchange/moca_notes.h). */
#pragma once

#include "base/error.h"
#include "trace/reader.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct moca_export {
    uint64_t tasks, chunks, accesses;
    uint64_t without_thread; /* accesses whose thread is not known: of a task with process id 0 */
};

/* Holds about `most` accesses at once (0: a million, 64 MiB), or one task's where what was imported has notes on its
 * chunks; for lines it goes over the trace again as often as that takes. Negative with `err` when the trace has no pages,
 * cannot be read, or `out` cannot be written. */
int moca_export(struct trace_reader *reader, bool csv, size_t most, FILE *out, struct moca_export *result,
                struct error *err);

/* With what is usually held at once. */
int moca_export_lines(struct trace_reader *reader, FILE *out, struct moca_export *result, struct error *err);
int moca_export_csv(struct trace_reader *reader, FILE *out, struct moca_export *result, struct error *err);
