#include "lib/sampling/data_src.h"

#include "wire/event.h"

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

uint64_t data_src_of(const nlens_sample *sample, unsigned flags)
{
    union perf_mem_data_src source = {0};
    source.mem_op = (flags & SAMPLE_READ ? PERF_MEM_OP_LOAD : 0) | (flags & SAMPLE_WRITE ? PERF_MEM_OP_STORE : 0);
    source.mem_lvl = level_bits(sample->level);
    source.mem_snoop = flags & SAMPLE_HITM ? PERF_MEM_SNOOP_HITM : PERF_MEM_SNOOP_NA;
    source.mem_lock = flags & SAMPLE_LOCKED ? PERF_MEM_LOCK_LOCKED : PERF_MEM_LOCK_NA;
    source.mem_dtlb = flags & SAMPLE_TLB_MISS ? PERF_MEM_TLB_MISS : PERF_MEM_TLB_NA;
    return source.val;
}
