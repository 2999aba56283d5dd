/* exchange/moca_import.h - recordings of MOCA become a numalens.data.
 *
 * Read twice: once to check every line and to learn which tasks there are, once to write.
 * MOCA does not say which tasks are threads of one process: all are taken as threads of the first one. */
#pragma once

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

struct moca_import {
    uint64_t tasks, chunks, accesses;
    uint64_t span; /* in MOCA's own unit of time */
};

/* Files of one run: one with all its tasks, or one for each. 0, or negative with `err`: which line of which file is
 * wrong. No output is left then, and what was there before stays. */
int moca_import(const char *const *paths, size_t count, const char *output, struct moca_import *result,
                struct error *err);
