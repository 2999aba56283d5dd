/* compare/job/rank_pack.h - a rank's summary as bytes, for another process of the same program on another machine of one job.
 *
 * Numbers are as this processor has them: all machines of a job run the same binary. Not a file format. */
#pragma once

#include "compare/job/rank_summary.h"

struct rank_bytes {
    array_of(char) bytes;
};

/* Appends it. */
void rank_pack(struct rank_bytes *to, const struct rank_summary *summary);

/* The summary at `*at`, which then is behind it. NULL at the end, or when bytes are missing. */
struct rank_summary *rank_unpack(const char *bytes, size_t size, size_t *at);
