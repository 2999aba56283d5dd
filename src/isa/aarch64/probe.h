/* isa/aarch64/probe.h - see isa/probe.h. */
#pragma once

#include "isa/aarch64/access.h"

static inline bool probe_ticks(uint64_t addr, uint32_t *ticks)
{
    uint64_t measured[2];
    if (access_probe(addr, addr ^ 0x800, measured) != 0)
        return false;
    uint64_t net = measured[0] > measured[1] ? measured[0] - measured[1] : 0;
    *ticks = net > UINT32_MAX ? UINT32_MAX : (uint32_t)net;
    return true;
}

/* Linux lets user space do this on every processor. */
static inline void probe_flush(const void *addr)
{
    __asm__ volatile("dc civac, %0\n\tdsb ish" : : "r"(addr) : "memory");
}
