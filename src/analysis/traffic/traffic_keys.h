/* analysis/traffic/traffic_keys.h - what bursts say of each instruction, for traffic.c alone.
 *
 * A key is an instruction, in one direction, of one thread, in one object or all those of a site. */
#pragma once

#include "analysis/traffic/traffic.h"
#include "analysis/traffic/traffic_bursts.h"

/* What was seen: of a key, or of several together. */
struct traffic_evidence {
    uint32_t tried, confirmed, from_memory; /* loads ahead */
    uint32_t walked, walked_from_memory;    /* likewise, that it came by row by row */
    uint32_t timed, slow;                   /* loads at the access */
    uint32_t behind, used;                  /* loads behind; of those, what had been brought in */
    uint32_t above, above_slow, below,
        below_slow;         /* loads on either side inside its object, of all bursts: also without a stride or a pair */
    uint32_t moved, lapped; /* pairs that find it further on, or behind: whatever else is known of its loop */
    double moved_ns, moved_lines;
    uint32_t pairs, wrapped,
        reentered;            /* wrapped: found behind where it was; reentered: its loop was entered again ... */
    uint32_t walks, back;     /* ... and it was further on in its object; or behind */
    uint32_t good;            /* pairs that say how fast it is */
    double time_ns, lines[3]; /* of those: read, written, allocated: times the share that memory serves */
};

enum { SHORT_RUNS = 3 }; /* fewer in a burst: its loop is longer than that */

struct traffic_key {
    uint32_t thread, object;
    bool stream, near;
    bool still, several; /* still: a variable that stays where it is; several: objects of the site */
    uint32_t bursts;     /* it was met in */
    uint32_t leads;      /* of those, as the one whose lines count */
    uint64_t accesses;
    uint64_t slow_ns;
    uint64_t from, to; /* addresses */
    struct traffic_evidence own;
    uint32_t first;  /* its bursts in work.order */
    uint32_t pool;   /* of the same instruction in all threads */
    double most;     /* the share that memory serves is no more, by its size, and by loads around it */
    double share;    /* served by memory; negative: not known */
    bool rated;      /* and how fast, where that matters */
    double rates[3]; /* lines per ns while it runs: read, written, allocated */
};

struct traffic_pool {
    uint32_t first, count; /* in work.pooled */
    struct traffic_evidence all;
    bool walks;          /* what it comes by in rows is known too ... */
    double used;         /* ... and which share of it it uses */
    bool follows;        /* another instruction brings its lines in, a row or more before it */
    bool judged, uneven; /* its speeds, once they were asked for */
};

struct traffic_work {
    struct traffic *traffic;
    array_of(const struct flow_stream *) rows;
    array_of(struct burst_item) items; /* of all bursts, `lead` counted from their burst's first */
    array_of(uint32_t) first;          /* item of each burst, and one more */
    array_of(struct traffic_key) keys; /* in order of their threads */
    array_of(struct traffic_pool) pools;
    array_of(uint32_t) order, pooled; /* items by key; keys by pool */
    array_of(double) speeds;
};

/* From items and first: the keys, with the share that memory serves and their rates. */
void traffic_keys(struct traffic_work *work);
void traffic_work_free(struct traffic_work *work);

/* In each burst, hands the lead over to the instruction that brings lines in, and fills `follows` of pools; for traffic_keys(). */
void traffic_find_fronts(struct traffic_work *work);

/* Fills `most` of all keys; for traffic_keys(). */
void traffic_find_most(struct traffic_work *work);

/* Lines from memory of an access of item `item`, which is one of the key's, at most; lines that it comes by in a nanosecond of the time
 * of its burst, at most: INFINITY where that is not known. */
double traffic_most(const struct traffic_work *work, const struct traffic_key *key, uint32_t item);
double traffic_most_lines(const struct traffic_work *work, const struct traffic_key *key, uint32_t item);

/* Of `all`, those that are more than noise. */
double traffic_share(uint32_t hits, uint32_t all);
