/* See reuse_curve.h. */
#include "analysis/reuse/reuse_curve.h"

#include "analysis/thresholds.h"

#include <math.h>

static double width(unsigned bin)
{
    return (double)(reuse_bin_time(bin + 1) - reuse_bin_time(bin));
}

/* What is known of a bin: of so many, how many end in it; and what one observation stands for. */
struct risk {
    double at_risk, ended, one;
};

static double watch_weight(const struct reuse_watched *watched)
{
    return watched && watched->count > 0 ? watched->weight / watched->count : 0;
}

/* One that ends among few would seem to be all: then nothing is known of the bin by itself. */
static double hazard_of(const struct risk *risk, double prior)
{
    return risk->at_risk + prior > 0 ? fmin(1, risk->ended / (risk->at_risk + prior)) : 0;
}

static unsigned last_watched(const struct reuse_watched *watched)
{
    unsigned last = 0;
    for (unsigned bin = 0; watched && bin < REUSE_BINS; bin++)
        if (watched->known[bin] >= thresholds.long_bursts)
            last = bin;
    return last;
}

void reuse_curve_make(struct reuse_curve *curve, const struct reuse_counts *counts, const struct reuse_watched *watched,
                      const struct reuse_curve *all)
{
    double at_risk = counts->at_once, survival = 1, lines = 0, watch = watch_weight(watched);
    curve->last = 0;
    for (unsigned bin = 0; bin < REUSE_BINS; bin++) {
        at_risk += counts->used[bin] + counts->at_least[bin];
        if (counts->used[bin] + counts->at_least[bin] > 0)
            curve->last = bin;
    }
    curve->watched = last_watched(watched);
    if (curve->last < curve->watched)
        curve->last = curve->watched;
    for (unsigned bin = 0; bin < REUSE_BINS; bin++) {
        bool few = at_risk < thresholds.bursts * counts->smallest_row;
        struct risk risk = {fmax(at_risk - counts->at_least[bin] / 2, 0),
                            counts->used[bin] + (bin == 1 ? counts->at_once : 0), counts->smallest_row};
        at_risk -= risk.ended + counts->at_least[bin];
        if (few && watch > 0 && bin <= curve->watched) {
            /* besides those of all one that may wait for ever: that none of these did does not say that none does */
            risk = (struct risk){watched->at_risk[bin] + (all ? 0 : watch), watched->used[bin], watch};
            few = false;
        }
        /* What the curve of all is worth beside its own: where fewer are at risk, it shows more. */
        double prior = all ? thresholds.few_bursts * risk.one : 0;
        risk.ended += all ? prior * all->hazard[bin] : 0;
        double hazard = !all && few ? 0 : hazard_of(&risk, prior), before = survival;
        survival *= 1 - hazard;
        if (bin <= curve->last)
            lines += (before + survival) / 2 * width(bin);
        curve->survival[bin] = survival;
        curve->hazard[bin] = hazard;
    }
    curve->lines = lines;
}

static double survival_before(const struct reuse_curve *curve, unsigned bin)
{
    return bin ? curve->survival[bin - 1] : 1;
}

double reuse_curve_time(const struct reuse_curve *curve, double lines)
{
    double sum = 0;
    for (unsigned bin = 0; bin <= curve->last; bin++) {
        double more = (survival_before(curve, bin) + curve->survival[bin]) / 2 * width(bin);
        if (more > 0 && sum + more >= lines)
            return bin + (lines - sum) / more;
        sum += more;
    }
    return curve->last + 1;
}

double reuse_curve_at(const struct reuse_curve *curve, double time)
{
    unsigned bin = time < REUSE_BINS - 1 ? (unsigned)time : REUSE_BINS - 1;
    double before = survival_before(curve, bin), part = fmin(1, time - bin);
    return before + (curve->survival[bin] - before) * part;
}
