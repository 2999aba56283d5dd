/* capture/process/process_table.h - the processes of a recording, one for each program image, and their call chains' numbers. */
#pragma once

#include "base/map64.h"
#include "capture/sink.h"

struct capture_process {
    uint32_t pid;
    uint32_t parent;
    uint32_t local; /* its number in its own PID namespace; 0: the same, or not known */
    uint32_t image; /* of the agent in it, see wire_ring; 0: none */
    uint64_t start; /* when the image began */
    uint32_t rings; /* that it holds */
    uint32_t last_stack;
    bool announced;      /* its EVENT_PROCESS_START is in the trace */
    bool ended;          /* its end was seen */
    struct map64 stacks; /* hash of a chain, to its number */
};

struct process_table {
    struct sink *sink;
    uint32_t first;             /* the target itself: who started it knows how it ended */
    struct map64 by_pid;        /* to struct capture_process * */
    size_t stacks, stacks_most; /* kept in all processes */
    uint64_t started;           /* images seen */
    uint64_t stacks_lost;       /* chains without a number, not yet reported */
};

/* Call chains take up to `memory` bytes. */
void process_table_init(struct process_table *table, struct sink *sink, size_t memory);
void process_table_free(struct process_table *table);

/* The process as far as it is known, or NULL. */
struct capture_process *process_find(const struct process_table *table, uint32_t pid);

/* The child of `parent` that it knows as `local`, in a PID namespace that is not the recorder's; or NULL. */
struct capture_process *process_child(const struct process_table *table, uint32_t parent, uint32_t local);

/* A new image begins in `pid`; with `parent` (of a fork) its chains' numbers go on where the parent's are. Appends
 * EVENT_PROCESS_START. `event` has time, pid and process filled. */
struct capture_process *process_start(struct process_table *table, const struct event *event, uint32_t image);

/* It ended: appends EVENT_PROCESS_EXIT once. */
void process_end(struct process_table *table, struct capture_process *process, uint64_t time, int status);

/* The number of a chain in that process, 0 when the table is full. New ones are appended as EVENT_STACK. */
uint32_t process_stack(struct process_table *table, struct capture_process *process, const uint64_t *frames,
                       uint16_t depth, bool cut);

/* Forgets processes that ended and hold no ring. */
void process_table_prune(struct process_table *table);

size_t process_table_memory(const struct process_table *table);
