/* base/units.h - page and cache line, each defined once. Numbers only: agent and isa may include it too.
 *
 * PAGE_UNIT is the 4 KiB in which traces, flows and analyses divide addresses: the smallest page of every kernel that
 * numalens runs on. The kernel's own page may be larger (16 or 64 KiB on aarch64); what is asked of the kernel or mapped goes
 * by sysconf(_SC_PAGESIZE). */
#pragma once

enum {
    PAGE_UNIT_SHIFT = 12,
    PAGE_UNIT = 1 << PAGE_UNIT_SHIFT,
    PAGE_LARGEST = 64 << 10, /* that a kernel may have */
    HUGE_PAGE = 2 << 20,     /* the smallest huge page there is */
    CACHE_LINE_SHIFT = 6,
    CACHE_LINE = 1 << CACHE_LINE_SHIFT, /* bytes that caches and memory controllers of both processors move */
};
