/* capture/count/count_recorded.h - what the memory of each node moved while a recording went on, by the memory controllers' counters: read
 * at its beginning and at its end, for the trace's last block (docs/format.md). As a source: it has no events. */
#pragma once

#include "capture/count/count_session.h"
#include "capture/source.h"
#include "trace/session.h"

struct count_recorded {
    const char *root;              /* of sys and proc; NULL: this machine */
    struct count_session *session; /* NULL: there are no counters of memory's bytes; then `reason` says why */
    struct count_reading first, last;
    char reason[400];
};

/* Refused by nothing: what cannot be counted is a reason. `recorded` must outlive it. */
struct source count_recorded_source(struct count_recorded *recorded);

/* After it was finished: the figures of each node, or the reason. */
void count_recorded_describe(const struct count_recorded *recorded, struct trace_session *ending);
