/* exchange/moca_import.h - recordings of MOCA become a numalens.data.
 *
 * Read twice: once to check every line and to learn what is noted beside pages (exchange/moca_notes.h), once to write.
 * MOCA does not say which tasks are threads of one process: all are taken as threads of the first one. */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct moca_import {
    uint64_t tasks, chunks, accesses; /* chunks: 0 of the CSV */
    uint64_t span;                    /* in MOCA's own unit of time */
    bool csv;
    bool renumbered; /* notes on chunks were too many to be kept: they will be renumbered */
};

/* Files of one run: one with all its tasks, or one for each. 0, or negative with `err`: which line of which file is
 * wrong. No output is left then, and what was there before stays. */
int moca_import(const char *const *paths, size_t count, const char *output, struct moca_import *result,
                struct error *err);
