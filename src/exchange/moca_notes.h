/* exchange/moca_notes.h - what a MOCA recording has beyond pages, kept in a trace's session so that nothing is lost when it
 * is written again: how numbers are written, which task is which thread, and of chunks what cannot be worked out from
 * their accesses. */
#pragma once

#include "base/array.h"
#include "base/error.h"
#include "trace/session.h"

#include <stdbool.h>
#include <stdint.h>

enum moca_order { MOCA_BY_TASK, MOCA_BY_TIME }; /* rows of the CSV */

struct moca_style {
    bool address_prefix, mask_hexadecimal;
    unsigned address_digits; /* 0: as few as it takes */
    uint32_t mask_digits;
    uint64_t page_size; /* 0: not reported */
    enum moca_order order;
};

struct moca_task {
    uint32_t id, pid; /* as MOCA has them */
    uint32_t event_pid, event_tid;
};

/* A chunk that is not what its place and its accesses say. Chunks of a task are numbered by start, end and place in the
 * file. Without a note a chunk's id is one more than that of the chunk before (0 for the first), its mask is that of its
 * accesses together, and it ends where start or end changes. */
struct moca_chunk_note {
    uint32_t task;
    uint64_t number;
    bool has_id, has_count, is_empty, has_mask;
    uint64_t id, count, start, end; /* start, end: of an empty one */
    char *mask;                     /* as it was written */
};

struct moca_notes {
    struct moca_style style;
    array_of(struct moca_task) tasks;        /* in order of their ids' appearance */
    array_of(struct moca_chunk_note) chunks; /* by task, then number */
};

void moca_notes_free(struct moca_notes *notes);

/* Into a session. False when notes on chunks are too many to be kept: they are dropped. */
bool moca_notes_keep(const struct moca_notes *notes, struct trace_session *session);

/* From a session; false when it has none, or none that make sense: `notes` is empty then. */
bool moca_notes_find(struct moca_notes *notes, const struct trace_session *session);
