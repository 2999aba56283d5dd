#include "capture/faults/pagemap.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define SCAN_IOCTL _IOWR('f', 16, struct pagemap_request)

int pagemap_open(uint32_t pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%u/pagemap", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

int pagemap_scan(int fd, struct pagemap_request *request, struct pagemap_range *found, size_t room)
{
    request->size = sizeof *request;
    request->vec = (uintptr_t)found;
    request->vec_len = room;
    int count = ioctl(fd, SCAN_IOCTL, request);
    return count < 0 ? -errno : count;
}

uint64_t pagemap_page(void)
{
    return (uint64_t)sysconf(_SC_PAGESIZE);
}

uint64_t pagemap_end(void)
{
    char here; /* stacks are at the top: as many bits as addresses have */
    return ((uint64_t)1 << (64 - __builtin_clzll((uintptr_t)&here))) - pagemap_page();
}

size_t pagemap_read(int fd, uint64_t addr, uint64_t *entries, size_t count)
{
    ssize_t got = pread(fd, entries, count * sizeof *entries, (off_t)(addr / pagemap_page() * sizeof *entries));
    return got > 0 ? (size_t)got / sizeof *entries : 0;
}

uint64_t pagemap_entry_categories(uint64_t entry)
{
    return (entry >> 63 & 1 ? PAGEMAP_PRESENT : 0) | (entry >> 62 & 1 ? PAGEMAP_SWAPPED : 0) |
           (entry >> 61 & 1 ? PAGEMAP_FILE : 0) | (entry >> 55 & 1 ? PAGEMAP_SOFT_DIRTY : 0);
}

uint64_t pagemap_entry_frame(uint64_t entry)
{
    return entry >> 63 & 1 ? entry & (((uint64_t)1 << 55) - 1) : 0;
}
