/* analysis/facts/claim.h - how sure a statement about a share is, from independent bursts.
 *
 * A finding rests on claims: "more than half of what chance leaves open is agreement", "fewer than 10% of the accesses
 * are writes". Each has a null hypothesis, a share that it must differ from, and is tested by the score test whose
 * inverse is the Wilson interval. A burst counts once, however many accesses of it hit: these are no independent
 * observations. A claim that is not reached says how many bursts would decide it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct claim {
    double share;  /* observed, 0 to 1 */
    double null;   /* the share that the null hypothesis has */
    double bursts; /* independent observations behind it */
    bool below;    /* the claim is that the share is smaller than the null's; else that it is larger */
};

/* 0 to 1: one less the chance to see this share, or a more extreme one, if the null hypothesis held. 0 with fewer than
 * thresholds.bursts of them. */
double claim_confidence(const struct claim *claim);

/* Bursts with which the claim, or its opposite, would be reached with 95%, if the share is what it seems now: where it is
 * close to the null, a quarter of the present interval is taken for the difference. Always more than there are, by
 * half as many again at least, rounded. */
uint64_t claim_needed(const struct claim *claim);

/* 1234 -> 1300: two digits, up. */
uint64_t claim_rounded(double number);

/* The upper end alone of a share's interval, at 95% (one-sided): "at most 2%, 95% sure". With none of n seen about 2.7/n. */
double claim_at_most(double share, double bursts);

/* "certain", "likely", "a hint"; "undecided" below. */
const char *claim_word(double confidence);
