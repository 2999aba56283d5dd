/* isa/x86_64/probe.h - see isa/probe.h. */
#ifndef NUMALENS_ISA_X86_64_PROBE_H
#define NUMALENS_ISA_X86_64_PROBE_H

#include "isa/x86_64/guard.h"

static inline bool probe_ticks(uint64_t addr, uint32_t *ticks)
{
    enum { PROBE_PAGE = 4096 };
    /* Far from the line in question, lest a prefetch of neighbours brings it. */
    uint64_t near = (addr & ~(uint64_t)(PROBE_PAGE - 1)) | ((addr + PROBE_PAGE / 2) & (PROBE_PAGE - 1));
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

#endif
