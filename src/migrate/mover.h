/* migrate/mover.h - carries out a plan and says of every page that stayed why it did. */
#pragma once

#include "migrate/history.h"
#include "migrate/memory.h"
#include "migrate/move_plan.h"

enum move_failure {
    FAILED_ABSENT,    /* the page, or the whole process, is no more */
    FAILED_SHARED,    /* mapped by several processes: only an administrator may move it */
    FAILED_BUSY,      /* in use by the kernel just then */
    FAILED_NO_MEMORY, /* no room on the node */
    FAILED_REFUSED,   /* no permission */
    FAILED_OTHER,
    MOVE_FAILURES
};

const char *move_failure_text(enum move_failure why);
const char *move_failure_name(enum move_failure why);

struct moved {
    uint64_t pages, bytes;
    uint64_t failed[MOVE_FAILURES];
    uint64_t no_memory_on[TOPOLOGY_MAX_NODES / 64]; /* a bit for each node that had no room */
    struct error failure;                           /* the first call that failed as a whole, code 0 when none did */
};

/* Moves what is in `plan`. Of moves that fail `history` learns; moves[i].to of those becomes moves[i].from. */
void mover_run(struct moved *moved, struct plan *plan, const struct memory *memory, struct history *history,
               uint64_t interval);
