/* trace/merge.h - the files of one run (numalens record --rotate) as one trace.
 *
 * Blocks are copied as they are, without what a file repeats of those before it: the result has each event once, as if the
 * run had been recorded into one file. */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct trace_merged {
    uint64_t first, last; /* numbers of the files */
    bool ended;           /* with the run */
};

/* Writes the trace of `paths`, in any order, to `output` (mode 0600). -EINVAL when they are not of one run or do not follow one another,
 * with the cause; nothing is left then. `merged` may be NULL. */
int trace_merge(const char *const *paths, size_t count, const char *output, struct trace_merged *merged,
                struct error *err);

/* The run that the file is one of several of, for comparing with another's; the caller frees it. NULL when it is a recording of its own
 * or cannot be read. */
char *trace_run_of(const char *path);
