/* capture/faults/page_look.h - how large pages of a process are, and in which frames, as far as it has them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct page_seen {
    uint64_t page;     /* the address asked for */
    uint64_t physical; /* of its frame; 0 when the kernel does not report */
    bool there;        /* false: the kernel has no page for it, yet or any more */
    bool huge;         /* part of one of `huge_bytes` */
};

/* Fills all but the addresses, which ascend. False when the process has ended. */
bool page_look(uint32_t pid, uint64_t huge_bytes, struct page_seen *pages, size_t count);
