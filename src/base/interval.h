/* base/interval.h - how far what was found in a few trials may be from the truth. */
#pragma once

#include <math.h>
#include <stdint.h>

/* Standard errors beyond which a normal deviate is in one of twenty cases: on both sides, on one. */
static const double NORMAL_95 = 1.959964, NORMAL_95_ONE_SIDE = 1.644854;

static inline double share_of(uint64_t part, uint64_t whole)
{
    return whole ? (double)part / (double)whole : 0;
}

struct wilson {
    double low, high; /* from 0 to 1 */
};

/* Of a share from 0 to 1 (Wilson 1927), found in `trials` that do not hang together: bursts, not the accesses in them. */
static inline struct wilson wilson_within(double share, double trials, double z)
{
    if (trials <= 0)
        return (struct wilson){0, 1};
    double width = 1 + z * z / trials, middle = share + z * z / (2 * trials);
    double half = z * sqrt(fmax(share * (1 - share), 0) / trials + z * z / (4 * trials * trials));
    return (struct wilson){fmax((middle - half) / width, 0), fmin((middle + half) / width, 1)};
}

static inline struct wilson wilson_interval(double share, double trials)
{
    return wilson_within(share, trials, NORMAL_95);
}

/* The chance that a Student's t of so many degrees of freedom is at most this far from 0 (Abramowitz and Stegun, 26.7.3 and 4). */
static inline double student_within(double t, unsigned freedom)
{
    double angle = atan(t / sqrt(freedom)), cosine = cos(angle), term = freedom % 2 ? cosine : 1, sum = 0;
    for (unsigned k = 2 + freedom % 2; k <= freedom; k += 2) {
        sum += term;
        term *= cosine * cosine * (k - 1) / k;
    }
    return freedom % 2 ? (angle + sin(angle) * sum) * M_2_PI : sin(angle) * sum;
}

/* Beyond which it is with this chance, both sides together. */
static inline double student_quantile(unsigned freedom, double chance)
{
    double low = 0, high = 1;
    while (1 - student_within(high, freedom) > chance && high < 1e12)
        high *= 2;
    for (int i = 0; i < 100; i++) {
        double middle = (low + high) / 2;
        *(1 - student_within(middle, freedom) > chance ? &low : &high) = middle;
    }
    return high;
}
