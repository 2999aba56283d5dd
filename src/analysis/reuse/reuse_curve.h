/* analysis/reuse/reuse_curve.h - from reuse times to misses, for a cache of any size.
 *
 * The time between two uses of a line is counted in accesses. Of some only a lower bound is known: the line was used before the
 * burst began. Kaplan and Meier's estimate S(t) is the share of the accesses whose line was not used in the t accesses before; its
 * sum up to t is the number of different lines in t accesses, the footprint. A cache of c lines forgets a line once c others were used
 * since: accesses with t longer than where the footprint is c miss. There is nothing else to choose (StatStack, HOTL). */
#pragma once

#include "flow/flow.h"

/* Accesses by the time since their line's last use. */
struct reuse_counts {
    double used[REUSE_BINS];     /* after so long */
    double at_least[REUSE_BINS]; /* after that or longer */
    double at_once; /* right away, besides: lines that are used all the time are followed by chance or not at all */
    double smallest_row; /* the smallest row that these are the sum of: what one line stands for that was followed */
};

/* Lines that were waited for behind bursts: reuse times longer than these (watches.h). */
struct reuse_watched {
    double at_risk[REUSE_BINS]; /* that were waited for in the bin, ... */
    double used[REUSE_BINS];    /* ... and were used in it */
    double known[REUSE_BINS];   /* watches that lasted so long, or ended by a use */
    double weight, count;       /* of all: what they stand for; watches */
};

struct reuse_curve {
    double survival[REUSE_BINS]; /* S at each bin's end */
    double hazard[REUSE_BINS];   /* of those that got as far as the bin, the share that ends in it */
    unsigned last;               /* the last bin that anything is known of */
    unsigned watched;            /* the last one that enough watches say something of; 0: none */
    double lines;                /* footprint at its end */
};

/* Watches are followed where bursts show no more (NULL: there are none); the curve of `all` where few are left of its own (NULL: it is
 * that itself). */
void reuse_curve_make(struct reuse_curve *curve, const struct reuse_counts *counts, const struct reuse_watched *watched,
                      const struct reuse_curve *all);

/* The time, in bins and parts of one, at which the footprint is `lines`; at most the last that is known. */
double reuse_curve_time(const struct reuse_curve *curve, double lines);

/* S at such a time. */
double reuse_curve_at(const struct reuse_curve *curve, double time);
