#include "library/data_src.h"

#include "capture/pmu/choose.h"

#include <linux/perf_event.h>

static uint64_t level_bits(uint32_t level)
{
    switch (level) {
    case NLENS_LEVEL_L1:
        return PERF_MEM_LVL_L1 | PERF_MEM_LVL_HIT;
    case NLENS_LEVEL_LFB:
        return PERF_MEM_LVL_LFB | PERF_MEM_LVL_HIT;
    case NLENS_LEVEL_L2:
        return PERF_MEM_LVL_L2 | PERF_MEM_LVL_HIT;
    case NLENS_LEVEL_L3:
        return PERF_MEM_LVL_L3 | PERF_MEM_LVL_HIT;
    case NLENS_LEVEL_RAM:
        return PERF_MEM_LVL_LOC_RAM | PERF_MEM_LVL_HIT;
    case NLENS_LEVEL_REMOTE_CACHE:
        return PERF_MEM_LVL_REM_CCE1 | PERF_MEM_LVL_HIT;
    case NLENS_LEVEL_REMOTE_RAM:
        return PERF_MEM_LVL_REM_RAM1 | PERF_MEM_LVL_HIT;
    case NLENS_LEVEL_IO:
        return PERF_MEM_LVL_IO | PERF_MEM_LVL_HIT;
    case NLENS_LEVEL_UNCACHED:
        return PERF_MEM_LVL_UNC | PERF_MEM_LVL_HIT;
    default:
        return PERF_MEM_LVL_NA;
    }
}

uint64_t data_src_of(const nlens_sample *sample)
{
    union perf_mem_data_src source = {0};
    source.mem_op = (sample->read ? PERF_MEM_OP_LOAD : 0) | (sample->write ? PERF_MEM_OP_STORE : 0);
    source.mem_lvl = level_bits(sample->level);
    source.mem_snoop = PERF_MEM_SNOOP_NA;
    source.mem_lock = sample->locked ? PERF_MEM_LOCK_LOCKED : PERF_MEM_LOCK_NA;
    source.mem_dtlb = PERF_MEM_TLB_NA;
    return source.val;
}

int data_src_find_pmu(struct error *err)
{
    struct pmu_choice choice;
    struct pmu_wish wish = {.loads = true, .stores = true, .period = 10007};
    char cpuid[64];
    pmu_cpuid(cpuid, sizeof cpuid);
    return pmu_choose(&choice, "/sys", cpuid, PMU_ANY, &wish, err);
}
