/* exchange/moca_export.h - the pages of a trace as MOCA writes them: lines T, C, A.
 *
 * A task is a thread, a chunk one interval of it; both are numbered from 0 as they come. */
#pragma once

#include "base/error.h"
#include "trace/reader.h"

#include <stdint.h>
#include <stdio.h>

struct moca_export {
    uint64_t tasks, chunks, accesses;
    uint64_t without_thread; /* accesses whose thread is not known: of a task with process id 0 */
};

/* Holds about `most` accesses at once (0: a million, 64 MiB), and goes over the trace again as often as that takes. Negative
 * with `err` when the trace has no pages, cannot be read, or `out` cannot be written. */
int moca_export(struct trace_reader *reader, size_t most, FILE *out, struct moca_export *result, struct error *err);

/* With what is usually held at once. */
int moca_export_lines(struct trace_reader *reader, FILE *out, struct moca_export *result, struct error *err);
