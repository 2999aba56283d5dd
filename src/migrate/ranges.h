/* migrate/ranges.h - the mappings of a process as far as moving pages goes: what is there, how large its pages are,
 * whether the program bound it to nodes. From /proc/PID/maps, numa_maps and, for huge pages, pagemap. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct range {
    uint64_t start, end;
    uint64_t page_bytes; /* hugetlbfs: more than a small page's */
    bool file;           /* backed by a file (or shared memory) */
    bool bound;          /* under a memory policy of the program's or of numactl's */
    bool special;        /* vdso and the like: never moved */
};

struct ranges {
    struct range *items; /* in order of address */
    size_t count, capacity;
    uint64_t huge_bytes; /* of a transparent huge page; 0 when there are none */
};

/* 0, or a negative code: -ESRCH when the process has exited. The caller frees with ranges_free. */
int ranges_read(struct ranges *ranges, uint32_t pid);
void ranges_free(struct ranges *ranges);

/* The range that holds `addr`, or NULL. */
const struct range *ranges_find(const struct ranges *ranges, uint64_t addr);

/* For tests: from streams with the kernel's text. `numa_maps` may be NULL. */
void ranges_parse(struct ranges *ranges, FILE *maps, FILE *numa_maps);

/* Which of these pages (ascending addresses) are part of transparent huge pages. False when the kernel cannot say
 * (before 6.7): then `huge` is what can be guessed from smaps: mappings that consist of huge pages only. */
bool ranges_huge(const struct ranges *ranges, uint32_t pid, const uint64_t *pages, size_t count, bool *huge);
