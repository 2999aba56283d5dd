/* isa/x86_64/probe.h - see isa/probe.h. */
#pragma once

#include "base/units.h"
#include "isa/x86_64/guard.h"

static inline bool probe_ticks(uint64_t addr, uint32_t *ticks)
{
    /* Far from the line in question, lest a prefetch of neighbours brings it. */
    uint64_t near = (addr & ~(uint64_t)(PAGE_UNIT - 1)) | ((addr + PAGE_UNIT / 2) & (PAGE_UNIT - 1));
    int64_t measured = guard_time((const void *)near, (const void *)addr);
    if (measured < 0)
        return false;
    *ticks = measured > UINT32_MAX ? UINT32_MAX : (uint32_t)measured;
    return true;
}

static inline void probe_flush(const void *addr)
{
    __asm__ volatile("clflush (%0)\n\tmfence" : : "r"(addr) : "memory");
}
