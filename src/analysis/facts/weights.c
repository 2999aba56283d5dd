/* analysis/facts/weights.c - what hardware samples stand for; see struct facts_weights. */
#include "analysis/facts/facts_work.h"

void weights_mark(struct facts *facts, const struct flow_access *access)
{
    struct facts_weights *weights = &facts->weights;
    double period = access->period;
    if (access->period == 0)
        return;
    weights->weighed++;
    weights->directions[access->flags & SAMPLE_READ ? 0 : 1] = true;
    weights->sum += period;
    weights->squares += period * period;
    weights->known += access->home >= 0 || access->remote ? period : 0;
    weights->remote += access->remote ? period : 0;
}

/* Where other loads have a period, those without are of an event that samples the same loads once more: they add nothing. Where none
 * has, a load weighs as much as other samples do in the mean. So do stores. */
void weights_marked(struct facts *facts)
{
    struct facts_weights *weights = &facts->weights;
    weights->by_period = weights->weighed > 0;
    for (unsigned i = 0; weights->by_period && i < 2; i++)
        weights->without[i] = weights->directions[i] ? 0 : weights->sum / (double)weights->weighed;
}

static double share(double part, double whole)
{
    return whole > 0 ? part / whole : 0;
}

double facts_remote_ratio(const struct facts *facts)
{
    if (facts->weights.by_period)
        return share(facts->weights.remote, facts->weights.known);
    return share((double)facts->totals.remote, (double)facts->totals.home_known);
}

double facts_part_of_remote(const struct facts *facts, uint64_t samples, double weight)
{
    if (facts->weights.by_period)
        return share(weight, facts->weights.remote);
    return share((double)samples, (double)facts->totals.remote);
}

/* Kish, Survey Sampling (1965): the square of the weights' sum by the sum of their squares. */
double facts_bursts_worth(const struct facts *facts, double bursts)
{
    const struct facts_weights *weights = &facts->weights;
    if (!weights->by_period)
        return bursts;
    return bursts * weights->sum * weights->sum / (weights->squares * (double)weights->weighed);
}
