/* analysis/problems/latency.h - how latencies are distributed, what is in the tail, and whether something is contended (LaProf's
 * second problem; Table V, Figures 6 to 8; SPEC L8 to L10).
 *
 * Contention shows as latencies that memory without load never has. What memory has without load is known by calibration
 * (topology/calibration.h); where there is none, by the faster half of the recording's own accesses beyond the caches. */
#pragma once

#include "analysis/facts/accesses.h"

struct calibration;

enum {
    LATENCY_THRESHOLDS = 8,
    LATENCY_BUCKETS = 240, /* eight for each power of two */
    LATENCY_ROWS = 10,     /* rows that get a histogram of their own */
    LATENCY_LEVELS = 16,   /* enum sample_level */
    LATENCY_SLICES = 64,   /* of the run's time */
};

struct latency_histogram {
    uint64_t counts[LATENCY_BUCKETS];
    uint64_t number;
};

unsigned latency_bucket(uint32_t latency);
uint32_t latency_bucket_start(unsigned bucket); /* the least latency that falls into it */

/* Of a histogram, the latency that `part` (0 to 1) of the accesses do not exceed: the end of its bucket. */
uint32_t latency_quantile(const struct latency_histogram *histogram, double part);

struct latency_at { /* of accesses above each threshold; the last one, [count], is of all */
    struct access_tally above[LATENCY_THRESHOLDS + 1];
};

struct latency_row { /* a thing, a thread, or a function */
    uint32_t index;
    struct latency_at at;
    struct latency_histogram *histogram; /* of the first few rows; else NULL */
};

struct latency_pair { /* from a node to a node */
    int16_t from, home;
    struct latency_at at;
    struct latency_histogram histogram;
    double unloaded;       /* what a load takes when nothing else runs; 0 when not known */
    bool calibrated;       /* measured, else from the recording itself */
    uint64_t memory, tail; /* accesses beyond the caches; those that took TAIL_FACTOR times the unloaded latency */
    uint64_t slices[2][LATENCY_SLICES]; /* the same two by time */
    bool contended;
    uint64_t start, end; /* when, if contended */
};

enum contention { CONTENTION_UNKNOWN, CONTENTION_NONE, CONTENTION_MEMORY, CONTENTION_LINK };

struct latency {
    const struct accesses *accesses;
    uint32_t thresholds[LATENCY_THRESHOLDS];
    unsigned threshold_count;
    unsigned tail; /* the largest threshold that an access is above: what rows are sorted by */
    struct latency_at at;
    struct latency_histogram histogram;
    struct access_tally levels[LATENCY_LEVELS]; /* where accesses were answered */
    array_of(struct latency_pair) pairs;        /* with accesses; most first */
    array_of(struct latency_row) things;        /* largest TL above the tail's threshold first */
    array_of(struct latency_row) threads;       /* likewise */
    array_of(struct latency_row) functions;     /* likewise */
    uint64_t slow;                              /* latency from which an access is taken to miss the caches */

    enum contention contention;
    int16_t link_from, node; /* what is contended: node's memory, or the way from link_from to it */
    double tail_share;       /* of the accesses beyond the caches on the contended ways */
    uint64_t start, end;     /* when */
    char why[512];           /* the verdict with its evidence, in words */
};

/* `calibration` may be NULL. At most LATENCY_THRESHOLDS thresholds, in rising order. */
struct latency *latency_make(const struct accesses *accesses, const uint32_t *above, unsigned count,
                             const struct calibration *calibration);
void latency_free(struct latency *latency);
