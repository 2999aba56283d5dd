/* compare/paired.h - whether one way of running a program is faster than another, from runs that alternate.
 *
 * Each pair gives the logarithm of a ratio; a pair's two runs share what else the machine does. It may be looked at after every pair,
 * so the probability of a wrong answer is divided among all looks there will be (Bonferroni). */
#pragma once

enum { PAIRED_MOST = 200 };

struct paired { /* zeroed = no pairs yet */
    unsigned count;
    double logs[PAIRED_MOST];
};

struct paired_ratio { /* of the first to the second: above 1, the second is faster */
    double factor, low, high;
};

enum paired_answer { PAIRED_OPEN, PAIRED_FASTER, PAIRED_NOT_FASTER };

/* Times of one pair, both above 0. */
void paired_add(struct paired *paired, double first, double second);

/* With a confidence of 1 - `chance`, both sides. Without two pairs the interval is everything. */
struct paired_ratio paired_ratio(const struct paired *paired, double chance);

/* After this pair of at most `most`, with `chance` for a wrong "faster" in all of them: the second is faster; it is not, by `margin`
 * (1.01: one percent) or at all; or more pairs are needed. */
enum paired_answer paired_answer(const struct paired *paired, unsigned most, double chance, double margin);
