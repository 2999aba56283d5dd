/* base/wilson.h - how far a share that was found in a few trials may be from the true one (Wilson 1927, 95%). */
#pragma once

#include <math.h>
#include <stdint.h>

static inline double share_of(uint64_t part, uint64_t whole)
{
    return whole ? (double)part / (double)whole : 0;
}

struct wilson {
    double low, high; /* from 0 to 1 */
};

/* `share` from 0 to 1, found in `trials` that do not hang together: bursts, not the accesses in them. */
static inline struct wilson wilson_interval(double share, double trials)
{
    const double z = 1.959964;
    if (trials <= 0)
        return (struct wilson){0, 1};
    double width = 1 + z * z / trials, middle = share + z * z / (2 * trials);
    double half = z * sqrt(share * (1 - share) / trials + z * z / (4 * trials * trials));
    double low = (middle - half) / width, high = (middle + half) / width;
    return (struct wilson){low > 0 ? low : 0, high < 1 ? high : 1};
}
