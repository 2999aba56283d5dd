/* capture/hardware/pfm.c - libpfm4 knows the events of the processor it runs on by name. */
#include "capture/hardware/known.h"

#ifdef NUMALENS_PFM
#include <perfmon/pfmlib.h>
#include <perfmon/pfmlib_perf_event.h>

/* The encoding of the first of `names` that this processor has, or 0. */
static uint64_t first_of(const char *const *names)
{
    for (; *names; names++) {
        struct perf_event_attr attr = {.size = sizeof attr};
        pfm_perf_encode_arg_t arg = {.attr = &attr, .size = sizeof arg};
        if (pfm_get_os_event_encoding(*names, PFM_PLM3, PFM_OS_PERF_EVENT_EXT, &arg) == PFM_SUCCESS)
            return attr.config;
    }
    return 0;
}

bool pmu_known_pfm(struct pmu_known *known)
{
    static const char *const loads[] = {"MEM_TRANS_RETIRED:LOAD_LATENCY:ldlat=3",
                                        "MEM_TRANS_RETIRED:LATENCY_ABOVE_THRESHOLD:ldlat=3",
                                        "MEM_INST_RETIRED:LATENCY_ABOVE_THRESHOLD:ldlat=3", NULL};
    static const char *const stores[] = {"MEM_TRANS_RETIRED:STORE_SAMPLE", "MEM_TRANS_RETIRED:PRECISE_STORE",
                                         "MEM_INST_RETIRED:ALL_STORES", "MEM_UOPS_RETIRED:ALL_STORES", NULL};
    *known = (struct pmu_known){0};
    if (pfm_initialize() != PFM_SUCCESS)
        return false;
    *known = (struct pmu_known){.loads = first_of(loads), .stores = first_of(stores)};
    pfm_terminate();
    return known->loads != 0;
}
#else
bool pmu_known_pfm(struct pmu_known *known)
{
    *known = (struct pmu_known){0};
    return false;
}
#endif
