/* trace/run.h - a run: events of one kind and one thread in order of time, coded in columns as they are appended.
 *
 * A block is a handful of runs. Each column predicts its next value from what it has seen (an address from the last one
 * of the same call chain, a size likewise) and keeps the difference as a varint; values that rarely change are kept as
 * (value, repetitions). Nothing is sorted and no row is kept: this is the recorder's hot path. A reader restores the
 * order by merging runs. docs/format.md lists the columns. Private to src/trace. */
#pragma once

#include "trace/format.h"

#include <stdbool.h>

struct pending_block;

enum {
    RUN_GUESSES = 64,
    RUN_ROOM = 20, /* bytes that an event may take in any column, but for texts, bytes, frames and masks */
};

/* What is expected of the next event with a call chain of this number (modulo RUN_GUESSES). */
struct run_guess {
    uint64_t addr; /* 0: none yet */
    uint64_t other;
};

struct run_repeat {
    uint64_t value, times;
};

/* The state that coding and decoding keep alike. */
struct run_state {
    uint64_t time;
    uint64_t last[TRACE_MAX_COLUMNS]; /* by column; [0], since the time has none: the run's last address */
    struct run_repeat repeats[TRACE_MAX_COLUMNS];
    struct run_guess guesses[RUN_GUESSES];
    uint16_t word_count; /* of what is in `words` */
};

/* The guess for an event's call chain. A chain seen for the first time is expected near the run's last address. */
static inline struct run_guess *run_guess_for(struct run_state *state, uint32_t stack)
{
    struct run_guess *guess = &state->guesses[stack % RUN_GUESSES];
    if (guess->addr == 0)
        guess->addr = state->last[0];
    return guess;
}

struct run_column {
    uint8_t *bytes, *at, *limit;
};

struct trace_run {
    uint8_t kind;
    uint32_t tid, count;
    uint32_t counted; /* of those, in its block's count */
    size_t bytes_counted;
    uint32_t room; /* events that surely still fit into every column */
    uint64_t first_time;
    struct trace_run **holder;     /* whoever keeps a pointer to it; reported when the run is over */
    struct pending_block *pending; /* the block it will be in */
    struct trace_run *next;        /* in its block, or in the free list */
    struct run_column columns[TRACE_MAX_COLUMNS];
    struct run_state state;
    uint64_t *words; /* the last event's frames or mask; NULL of kinds that have neither */
};

/* How many columns runs of this kind have; 0 for no event. */
unsigned run_columns(unsigned kind);

/* Makes a run ready for its first event; columns keep the memory they have. */
void run_begin(struct trace_run *run, uint8_t kind, uint32_t tid, uint64_t first_time);

/* Sees to it that run->room is not 0. Then run_append_fast (trace/run_append.h) may append an event that is not older
 * than the run's last. */
void run_make_room(struct trace_run *run);

/* Room in one column for what may be longer than RUN_ROOM; run->room is 0 then. */
void run_reserve(struct trace_run *run, unsigned column, size_t bytes);
void run_put_bytes(struct trace_run *run, unsigned column, const void *bytes, size_t size);

/* Puts down what is still held back; then the columns' bytes are the run. */
void run_finish(struct trace_run *run);

void run_release(struct trace_run *run); /* its memory, not itself */
size_t run_memory(const struct trace_run *run);
size_t run_bytes(const struct trace_run *run); /* coded so far */

/* Reads a run back, one event at a time. */
struct run_cursor {
    uint8_t kind;
    uint32_t pid, tid;
    uint32_t remaining; /* events after the current one */
    uint64_t time;      /* of the current event */
    const uint8_t *at[TRACE_MAX_COLUMNS], *end[TRACE_MAX_COLUMNS];
    struct run_state state;
    uint64_t *words; /* TRACE_MAX_FRAMES of them, for kinds that event_keeps_words */
};

/* Stands on the first of `count` (> 0) events. False when the bytes cannot be that. */
bool run_cursor_begin(struct run_cursor *cursor, uint8_t kind, uint32_t pid, uint32_t tid, uint32_t count,
                      uint64_t first_time);

/* The current event, once; then run_cursor_step goes on. Both are false when the bytes are no events. */
bool run_cursor_event(struct run_cursor *cursor, struct event *event);
bool run_cursor_step(struct run_cursor *cursor);

static inline uint64_t rotate_right(uint64_t value, unsigned by)
{
    return value >> by | value << (-by & 63);
}

static inline uint64_t rotate_left(uint64_t value, unsigned by)
{
    return value << by | value >> (-by & 63);
}
