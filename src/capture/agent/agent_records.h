/* capture/agent/agent_records.h - one ring's state, and records made into events. Private to agent_source.c and
 * agent_records.c. */
#pragma once

#include "capture/agent/agent_source.h"
#include "wire/ring.h"

struct ring_state {
    struct wire_ring *ring;
    const uint8_t *data;
    uint64_t tail;                   /* the recorder's own: what stands in the ring is for the producer */
    struct capture_process *process; /* NULL until its owner is known */
    uint32_t pid, tid, image;
    bool owned;       /* claimed by someone we have seen */
    bool nameless;    /* its thread's number cannot be known */
    bool refused;     /* its bytes were no records: nothing of this owner is believed any more */
    bool busy;        /* being drained */
    uint8_t patience; /* drains that skipped this ring because its process is not known yet */
    uint64_t last_time;
    struct trace_lane lane;
    uint32_t *stacks; /* number in the ring, to number in the process */
    uint32_t stack_count, stack_room, stacks_seen;
    struct agent_totals reported;
    uint64_t lost_reported[LOSS_CAUSES];
};

struct agent_source {
    const struct capture_region *region;
    struct process_table *processes;
    struct sink *sink;
    struct counter_clock *clock;
    const struct source_listener *listener;
    struct agent_totals totals;
    struct ring_state *rings;
    struct ring_state **active; /* those that are owned */
    uint32_t active_count;
    uint64_t scanned;                /* when rings were last looked through for new owners */
    bool idle;                       /* there was little to drain: time enough to look through all rings */
    uint32_t ring_count, ring_bytes; /* own copies: the region's header is the target's to change */
    uint64_t samples_until;          /* later ones are not wanted; 0: all are */
    unsigned nested;                 /* calls of agent_drain_process under way */
    size_t stack_entries, stack_entries_most;
    uint64_t shared_reported[LOSS_CAUSES];
};

/* Takes what is in the rings of a process's images before `image`. A program that introduces itself knows the chains
 * of its parent, or takes the place of another: what came before must have been taken first. */
void agent_drain_process(struct agent_source *source, uint32_t pid, uint32_t image);

/* What the ring's oldest record says it is; it may say something else the next time. */
uint8_t agent_first_type(const struct agent_source *source, const struct ring_state *state);

/* The time of the ring's oldest record that has one, or `otherwise`. */
uint64_t agent_first_time(const struct agent_source *source, const struct ring_state *state, uint64_t head,
                          uint64_t otherwise);

/* Takes the records between the ring's tail and `head`. False when they cannot be records. */
bool agent_take_records(struct agent_source *source, struct ring_state *state, uint64_t head);
