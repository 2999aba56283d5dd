#include "analysis/facts/claim.h"

#include "analysis/thresholds.h"
#include "base/interval.h"

#include <math.h>

static double within(double share)
{
    return share < 0 ? 0 : share > 1 ? 1 : share;
}

/* A null of 0 or 1 cannot be tested by its own variance. */
static double null_of(const struct claim *claim)
{
    const double edge = thresholds.doubt_least;
    return claim->null < edge ? edge : claim->null > 1 - edge ? 1 - edge : claim->null;
}

double claim_confidence(const struct claim *claim)
{
    double null = null_of(claim), distance = within(claim->share) - null;
    if (!(claim->bursts >= thresholds.bursts))
        return 0;
    double z = (claim->below ? -distance : distance) / sqrt(null * (1 - null) / claim->bursts);
    double confidence = 0.5 * erfc(-z / sqrt(2));
    return fmin(confidence, 1 - thresholds.doubt_least);
}

double claim_at_most(double share, double bursts)
{
    return wilson_within(within(share), bursts, NORMAL_95_ONE_SIDE).high;
}

uint64_t claim_rounded(double number)
{
    double unit = 1;
    while (number / unit >= 100)
        unit *= 10;
    return (uint64_t)(ceil(number / unit) * unit);
}

uint64_t claim_needed(const struct claim *claim)
{
    const double most = 1e9;
    double null = null_of(claim), distance = fabs(within(claim->share) - null);
    struct wilson interval = wilson_interval(within(claim->share), claim->bursts);
    distance = fmax(distance, (interval.high - interval.low) / 4);
    double needed =
        distance > 0 ? NORMAL_95_ONE_SIDE * NORMAL_95_ONE_SIDE * null * (1 - null) / (distance * distance) : most;
    double min_needed = 1.5 * claim->bursts;
    if (needed < min_needed)
        needed = min_needed;
    if (needed < 2 * thresholds.bursts)
        needed = 2 * thresholds.bursts;
    return claim_rounded(needed < most ? needed : most);
}

const char *claim_word(double confidence)
{
    return confidence >= 1 - thresholds.doubt_certain  ? "certain"
           : confidence >= 1 - thresholds.doubt_likely ? "likely"
           : confidence >= 1 - thresholds.doubt_hint   ? "a hint"
                                                       : "undecided";
}
