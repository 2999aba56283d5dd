/* capture/faults/pagemap.h - the kernel's page table walk over a process (the ioctl PAGEMAP_SCAN, Linux 6.7), and what
 * stands in for it on older kernels where only soft-dirty bits are wanted. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of linux/fs.h, newer than some systems' headers. */
enum pagemap_category {
    PAGEMAP_TRACKED = 1 << 0, /* in memory that asynchronous write protection watches */
    PAGEMAP_WRITTEN = 1 << 1, /* and not protected: written, or never protected */
    PAGEMAP_FILE = 1 << 2,
    PAGEMAP_PRESENT = 1 << 3,
    PAGEMAP_SWAPPED = 1 << 4,
    PAGEMAP_ZERO = 1 << 5,
    PAGEMAP_HUGE = 1 << 6,
    PAGEMAP_SOFT_DIRTY = 1 << 7,
};

enum { PAGEMAP_PROTECT = 1 }; /* flag: write-protects what it finds */

struct pagemap_range {
    uint64_t start, end, categories;
};

struct pagemap_request { /* struct pm_scan_arg */
    uint64_t size, flags, start, end, walk_end, vec, vec_len, max_pages;
    uint64_t category_inverted, category_mask, category_anyof_mask, return_mask;
};

/* /proc/PID/pagemap, or -errno. */
int pagemap_open(uint32_t pid);

/* Fills request->size; `room` ranges at `found`. Returns how many were filled, or -errno; request->walk_end is where the
 * next call must begin. */
int pagemap_scan(int fd, struct pagemap_request *request, struct pagemap_range *found, size_t room);

/* The end of what a scan may ask for: programs' addresses here, less the last page. */
uint64_t pagemap_end(void);

/* Bytes of one entry: the kernel's page. */
uint64_t pagemap_page(void);

/* The entries of `count` pages from `addr` on; returns how many could be read. */
size_t pagemap_read(int fd, uint64_t addr, uint64_t *entries, size_t count);

/* What a pagemap entry says, as categories (present, swapped, file, soft-dirty), and the frame's number: 0 when it is
 * not ours to know. */
uint64_t pagemap_entry_categories(uint64_t entry);
uint64_t pagemap_entry_frame(uint64_t entry);
