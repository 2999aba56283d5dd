/* agent/process/own_maps.h - /proc/self/maps and smaps, read without libc's buffers: for the few facts that only the kernel knows. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct maps_line {
    uint64_t start, end, offset;
    uint32_t prot;    /* PROT_ bits */
    bool shared;      /* MAP_SHARED */
    const char *path; /* "" when anonymous; "[heap]" and the like; may be cut. Good during the visit only. */
    uint64_t huge;    /* maps_find_huge: bytes of it in huge pages */
};

/* Visits every map in the order of addresses until `visit` returns true. False when none did or nothing could be read. */
bool maps_find(bool (*visit)(const struct maps_line *line, void *data), void *data);

/* Likewise, without paths, and with what is in huge pages: the kernel looks at the pages of the whole process. */
bool maps_find_huge(bool (*visit)(const struct maps_line *line, void *data), void *data);
