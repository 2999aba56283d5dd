/* See reuse_weights.h. */
#include "analysis/reuse/reuse_weights.h"

#include "analysis/thresholds.h"
#include "base/array.h"
#include "base/map64.h"

#include <stdlib.h>

enum { REPEATS = 100 }; /* it changes little after a few */

/* The first is everything of which too few lines are followed to say how often a burst uses it: what is used all the time has few. */
enum { REST, FIRST };

struct subject {
    double lines, samples;
    uint32_t bursts; /* with lines of it */
};

struct reuse_weights {
    const struct flow *flow;
    size_t bursts;
    struct map64 numbers; /* of subjects */
    array_of(struct subject) subjects;
    array_of(double) shares; /* by subject, then burst: of the burst's accesses */
    double all_samples;
};

static void add_subject(struct reuse_weights *weights)
{
    array_push(&weights->subjects, (struct subject){0});
    for (size_t i = 0; i < weights->bursts; i++)
        array_push(&weights->shares, 0.0);
}

struct reuse_weights *reuse_weights_new(const struct flow *flow, size_t bursts)
{
    struct reuse_weights *weights = mem_zalloc(sizeof *weights);
    weights->flow = flow;
    weights->bursts = bursts;
    add_subject(weights);
    return weights;
}

void reuse_weights_free(struct reuse_weights *weights)
{
    map64_free(&weights->numbers);
    array_free(&weights->subjects);
    array_free(&weights->shares);
    free(weights);
}

void reuse_weights_add(struct reuse_weights *weights, size_t burst, uint64_t subject, double share, double lines)
{
    bool is_new;
    uint64_t *number = map64_insert(&weights->numbers, subject, &is_new);
    if (is_new) {
        *number = weights->subjects.count;
        add_subject(weights);
    }
    double *own = &weights->shares.items[*number * weights->bursts + burst];
    weights->subjects.items[*number].bursts += *own <= 0;
    weights->subjects.items[*number].lines += lines;
    *own += share;
}

static void count(void *context, const struct flow_access *access)
{
    struct reuse_weights *weights = context;
    const uint64_t *number = NULL;
    if (access->object != FLOW_NONE)
        number = map64_find(&weights->numbers,
                            reuse_subject(access->object, flow_object_site(weights->flow, access->object)));
    weights->subjects.items[number ? *number : REST].samples++;
    weights->all_samples++;
}

static bool is_known(const struct subject *subject)
{
    return subject->lines >= thresholds.bursts * subject->bursts;
}

void reuse_weights_sample(struct reuse_weights *weights)
{
    struct error ignored = {0}; /* the flow has read them all before */
    struct subject *subjects = weights->subjects.items;
    double *rest = weights->shares.items;
    flow_each_access(weights->flow, count, weights, &ignored);
    for (size_t b = 0; b < weights->bursts; b++)
        rest[b] = 1;
    for (size_t i = FIRST; i < weights->subjects.count; i++) {
        const double *share = weights->shares.items + i * weights->bursts;
        if (!is_known(&subjects[i])) {
            subjects[REST].samples += subjects[i].samples;
            continue;
        }
        for (size_t b = 0; b < weights->bursts; b++)
            rest[b] = rest[b] > share[b] ? rest[b] - share[b] : 0;
    }
}

/* Of what samples saw, the part that each burst stands for, with the parts of the time as they are. */
static void explain(const struct reuse_weights *weights, const double *parts, double *explained)
{
    size_t bursts = weights->bursts;
    double sum = 0;
    for (size_t b = 0; b < bursts; b++)
        explained[b] = 0;
    for (size_t i = 0; i < weights->subjects.count; i++) {
        const double *share = weights->shares.items + i * bursts;
        double all = 0;
        for (size_t b = 0; b < bursts && (i == REST || is_known(&weights->subjects.items[i])); b++)
            all += parts[b] * share[b];
        for (size_t b = 0; b < bursts && all > 0; b++) {
            double part = weights->subjects.items[i].samples / weights->all_samples * parts[b] * share[b] / all;
            explained[b] += part;
            sum += part;
        }
    }
    for (size_t b = 0; b < bursts; b++) /* what no burst has met is everybody's */
        explained[b] = sum > 0 ? explained[b] / sum : parts[b];
}

void reuse_weights_find(const struct reuse_weights *weights, double *times)
{
    size_t bursts = weights->bursts;
    double *parts = mem_alloc((bursts + 1) * sizeof *parts), *explained = mem_alloc((bursts + 1) * sizeof *explained);
    double all = 0;
    for (size_t b = 0; b < bursts; b++)
        all += times[b];
    for (size_t b = 0; b < bursts; b++)
        parts[b] = all > 0 ? times[b] / all : 0;
    for (unsigned repeat = 0; repeat < REPEATS && weights->all_samples > 0 && all > 0; repeat++) {
        explain(weights, parts, explained);
        for (size_t b = 0; b < bursts; b++)
            parts[b] = (times[b] / all + thresholds.by_samples * explained[b]) / (1 + thresholds.by_samples);
    }
    for (size_t b = 0; b < bursts; b++)
        times[b] = parts[b] * all;
    free(explained);
    free(parts);
}
