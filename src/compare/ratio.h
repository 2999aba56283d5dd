/* compare/ratio.h - a ratio of two sums over bursts, how sure it is, and whether two of them differ.
 *
 * Samples come in bursts, and those of one burst are alike: they are one look, not sixteen. So the unit is the burst: with
 * x and n of each (remote accesses and accesses, say) the ratio is sum(x)/sum(n), and its variance that of a ratio of
 * means over the bursts (Cochran, Sampling Techniques, section 6.4; also known as cluster-robust). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct ratio {
    uint64_t bursts; /* with n above 0 */
    double x, n, xx, xn, nn;
};

/* One burst. */
void ratio_add(struct ratio *ratio, double x, double n);

/* 0 without any. */
double ratio_value(const struct ratio *ratio);

/* Of ratio_value. `proportion`: x is a part of n; then it is at least what single samples would have, with half of one
 * added, so that none of many is not taken for certain. */
double ratio_variance(const struct ratio *ratio, bool proportion);

/* How probable a difference as large as that between the two is by chance alone, from 0 to 1; 1 without bursts. */
double ratio_chance(const struct ratio *left, const struct ratio *right, bool proportion);
