#include "perf/period.h"

#include "wire/event.h"

enum { SPE_STEP = 256 }; /* PMSIRR_EL1 has no lower bits, and the kernel drops them */

#define IBS_COUNTS_OPERATIONS (1ULL << 19) /* cnt_ctl of ibs_op */

struct perf_periods perf_periods_of(const struct perf_event_attr *attr, uint8_t source)
{
    struct perf_periods periods = {.other = source == SOURCE_FAULTS ||
                                            (source == SOURCE_IBS && !(attr->config & IBS_COUNTS_OPERATIONS)),
                                   .fixed = attr->freq ? 0 : attr->sample_period};
    if (source == SOURCE_SPE)
        periods.fixed -= periods.fixed % SPE_STEP;
    return periods;
}

uint32_t perf_period(const struct perf_periods *periods, const struct perf_sample *sample)
{
    uint64_t period = sample && sample->present & PERF_SAMPLE_PERIOD ? sample->period : periods->fixed;
    if (periods->other)
        return 0;
    return period < SAMPLE_PERIOD_MOST ? (uint32_t)period : SAMPLE_PERIOD_MOST;
}
