/* See reuse_curve.h. */
#include "analysis/reuse/reuse_curve.h"

#include "analysis/thresholds.h"

#include <math.h>

static double width(unsigned bin)
{
    return (double)(reuse_bin_time(bin + 1) - reuse_bin_time(bin));
}

void reuse_curve_make(struct reuse_curve *curve, const struct reuse_counts *counts, const struct reuse_curve *all)
{
    double at_risk = counts->at_once, survival = 1, lines = 0;
    curve->last = 0;
    for (unsigned bin = 0; bin < REUSE_BINS; bin++) {
        at_risk += counts->used[bin] + counts->at_least[bin];
        if (counts->used[bin] + counts->at_least[bin] > 0)
            curve->last = bin;
    }
    /* What the curve of all is worth beside its own: where fewer are at risk, it shows more. */
    double prior = all ? thresholds.few_bursts * counts->smallest_row : 0;
    for (unsigned bin = 0; bin < REUSE_BINS; bin++) {
        double ended = counts->used[bin] + (bin == 1 ? counts->at_once : 0), risk = at_risk - counts->at_least[bin] / 2;
        double expected = all ? prior * all->hazard[bin] : 0;
        double hazard = fmax(risk, 0) + prior > 0 ? fmin(1, (ended + expected) / (fmax(risk, 0) + prior)) : 0;
        if (!all && at_risk < thresholds.bursts * counts->smallest_row)
            hazard = 0; /* one that ends among so few would seem to be all */
        double before = survival;
        survival *= 1 - hazard;
        at_risk -= ended + counts->at_least[bin];
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
