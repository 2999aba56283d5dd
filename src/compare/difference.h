/* compare/difference.h - what changed from one run to another, and what of it is more than chance.
 *
 * A difference is real when it is larger than a bound below which nobody cares, and when sampling alone would not bring it
 * about: the test is that of compare/ratio.h, with the burst as unit, at thresholds.doubt_least for a whole table of rows together
 * (Bonferroni). It speaks of sampling only. Two runs also differ by how threads were scheduled and by what else the
 * machine did: that is what the bounds are for. Samples that were lost may all have been of one thread or object: no share is
 * called different that they alone could have changed so far. */
#pragma once

#include "compare/profile.h"

enum difference_kind { DIFFERENCE_SHARE, DIFFERENCE_REMOTE, DIFFERENCE_LATENCY, DIFFERENCES };

struct difference_row {
    const struct profile_entry *sides[2]; /* NULL: not there in this run */
    bool judged;                          /* enough bursts */
    double chances[DIFFERENCES];          /* of so large a difference without any cause; 1 when it is not known */
    bool real[DIFFERENCES];
    bool renamed;  /* the sides have different names: found by size, life, users and place */
    double weight; /* what rows are sorted by: real ones first, then by how much of all samples changed */
};

enum finding_fate {
    FATE_GONE,
    FATE_REMAINS,
    FATE_NEW,
    FATE_UNSURE, /* not found again, but nothing about it changed by more than chance; or samples are too few */
};

struct difference_finding {
    const struct profile_finding *before, *after; /* one may be NULL */
    enum finding_fate fate;
    char why[256];
};

struct difference {
    const struct profile *sides[2];
    array_of(struct difference_row) tables[PROFILE_TABLES];
    struct difference_row whole;  /* remote share and latency of everything; its sides are NULL */
    struct ratio latencies[2][2]; /* of local and of remote accesses, of each side */
    bool latency_real[2];         /* of local, of remote ones */
    uint32_t nodes;               /* that both have; 0 when the machines differ */
    bool *home_real;              /* whether each node's part of the traffic changed */
    array_of(struct difference_finding) findings;
    bool comparable; /* same command, topology of as many nodes, same unit of latency */
    char note[256];  /* what stands against comparing them, or "" */
    char what[640];  /* what changed, in one or two sentences */
    size_t verdict;  /* bytes of it that the first sentence has */
    char proof[512]; /* what became of the findings, in a sentence */
};

struct difference *difference_make(const struct profile *before, const struct profile *after);
void difference_free(struct difference *difference);

const char *finding_fate_name(enum finding_fate fate); /* `gone`, `remains`, `new`, `unsure` */

/* "grid (solver.c:41)", cut to `size`. */
const char *profile_entry_text(const struct profile_entry *entry, char *text, unsigned size);
