/* analysis/reuse/reuse_weights.h - how much of the program's time each long burst stands for.
 *
 * Long bursts are few, and by chance more of them are of one part of a program than it has of the time. Samples are many. So bursts get
 * the times with which, taken together, they use each object as often as the samples do: the likeliest parts of a mixture
 * (expectation and maximisation), where the CPU time between bursts counts, too: of the same kind of code bursts differ by chance. */
#pragma once

#include "flow/flow.h"

struct reuse_weights;

/* For so many bursts. */
struct reuse_weights *reuse_weights_new(const struct flow *flow, size_t bursts);
void reuse_weights_free(struct reuse_weights *weights);

/* Of a burst's accesses, the share of those to an object, and lines of it that were followed: `subject` is a site, or an object above all
 * sites. */
void reuse_weights_add(struct reuse_weights *weights, size_t burst, uint64_t subject, double share, double lines);

/* Counts the samples; after all bursts. */
void reuse_weights_sample(struct reuse_weights *weights);

/* `times` are those between bursts, 0: it does not count; on return of the same sum, as they are likeliest. */
void reuse_weights_find(const struct reuse_weights *weights, double *times);

static inline uint64_t reuse_subject(uint32_t object, uint32_t site)
{
    return site != FLOW_NONE ? site : (uint64_t)1 << 32 | object;
}
