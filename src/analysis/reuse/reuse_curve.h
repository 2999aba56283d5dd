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

struct reuse_curve {
    double survival[REUSE_BINS]; /* S at each bin's end */
    double hazard[REUSE_BINS];   /* of those that got as far as the bin, the share that ends in it */
    unsigned last;               /* the last bin that anything is known of */
    double lines;                /* footprint at its end */
};

/* Where few are left of its own, the curve of `all` is followed (NULL: it is that itself). */
void reuse_curve_make(struct reuse_curve *curve, const struct reuse_counts *counts, const struct reuse_curve *all);

/* The time, in bins and parts of one, at which the footprint is `lines`; at most the last that is known. */
double reuse_curve_time(const struct reuse_curve *curve, double lines);

/* S at such a time. */
double reuse_curve_at(const struct reuse_curve *curve, double time);
