#include "exchange/perf_weights.h"

#include "perf/period.h"

#include <stdlib.h>
#include <string.h>

void perf_weights_free(struct perf_weights *weights)
{
    array_free(&weights->events);
}

/* Loads over 30 cycles and loads that miss the L3 are partly the same ones: of events of one PMU the first counts. Two kinds of cores
 * are two PMUs. */
static bool counts(struct perf_weights *weights, const struct perf_event_attr *attr, uint8_t flags)
{
    struct perf_weighed *own = NULL;
    array_each (&weights->events, struct perf_weighed, other) {
        bool same = other->config == attr->config && other->config1 == attr->config1;
        if (other->type != attr->type)
            continue;
        if (same)
            own = other;
        else if (other->flags & flags)
            return false;
    }
    if (own)
        own->flags |= flags;
    else
        array_push(&weights->events, (struct perf_weighed){attr->type, attr->config, attr->config1, flags});
    return true;
}

uint32_t perf_weight(struct perf_weights *weights, const struct perf_file_event *event,
                     const struct perf_sample *sample, const struct memory_access *access)
{
    struct perf_periods periods = perf_periods_of(&event->attr, weights->source);
    /* The kernel's word of IBS does not say which loads waited for a line that another had asked for. */
    bool unclear = weights->source == SOURCE_IBS && !weights->by_registers;
    if (unclear || !counts(weights, &event->attr, access->flags & (SAMPLE_READ | SAMPLE_WRITE)))
        return 0;
    return perf_period(&periods, sample);
}

uint32_t perf_weight_packet(const struct perf_weights *weights, const struct perf_file *file)
{
    const struct perf_file_event *events;
    size_t count = perf_file_events(file, &events);
    for (size_t i = 0; i < count; i++)
        if (strstr(events[i].name, "arm_spe")) {
            struct perf_periods periods = perf_periods_of(&events[i].attr, weights->source);
            return perf_period(&periods, NULL);
        }
    return 0;
}

unsigned long perf_weights_threshold(const struct perf_file *file)
{
    const struct perf_file_event *events;
    size_t count = perf_file_events(file, &events);
    for (size_t i = 0; i < count; i++) {
        const char *term = strstr(events[i].name, "ldlat=");
        if (term)
            return strtoul(term + strlen("ldlat="), NULL, 0);
    }
    return 0;
}
