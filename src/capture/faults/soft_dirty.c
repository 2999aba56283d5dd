#include "capture/faults/soft_dirty.h"

#include "base/mem.h"
#include "capture/faults/armer.h"
#include "capture/process/proc.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { ENTRIES = 8192 };

#define LARGEST ((uint64_t)1 << 38) /* of a mapping that is read entry by entry: reserves are larger, and empty */

struct soft_dirty {
    uint64_t entries[ENTRIES];
    struct pagemap_range found[ENTRIES / 4];
    bool no_scan; /* this kernel must be read entry by entry */
};

bool soft_dirty_works(void)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uint64_t entry = 0;
    char *memory = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return false;
    *(volatile char *)memory = 1;
    int fd = pagemap_open((uint32_t)getpid());
    bool marked = fd >= 0 && pagemap_read(fd, (uintptr_t)memory, &entry, 1) == 1 &&
                  pagemap_entry_categories(entry) & PAGEMAP_SOFT_DIRTY;
    if (fd >= 0)
        close(fd);
    munmap(memory, page);
    return marked;
}

bool soft_dirty_clear(uint32_t pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%u/clear_refs", pid);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool cleared = fd >= 0 && write(fd, "4", 1) == 1;
    if (fd >= 0)
        close(fd);
    return cleared;
}

/* Both report present pages with and without the mark: the caller must know which ones are armed now. */
static uint64_t walk(struct soft_dirty *dirty, int fd, uint32_t pid, armer_found *found, void *finder)
{
    uint64_t marked = 0, end = pagemap_end(), page = pagemap_page();
    for (uint64_t at = 0; at < end;) {
        struct pagemap_request request = {.start = at,
                                          .end = end,
                                          .category_anyof_mask = PAGEMAP_PRESENT | PAGEMAP_SWAPPED,
                                          .return_mask = PAGEMAP_SOFT_DIRTY | PAGEMAP_ZERO | PAGEMAP_HUGE};
        int count = pagemap_scan(fd, &request, dirty->found, ENTRIES / 4);
        if (count < 0) {
            dirty->no_scan = at == 0;
            return marked;
        }
        for (int i = 0; i < count; i++) {
            struct pagemap_range *range = &dirty->found[i];
            marked += range->categories & PAGEMAP_SOFT_DIRTY ? (range->end - range->start) / page : 0;
            found(finder, pid, range);
        }
        at = request.walk_end;
    }
    return marked;
}

static uint64_t read_mapping(struct soft_dirty *dirty, int fd, uint32_t pid, uint64_t start, uint64_t end,
                             armer_found *found, void *finder)
{
    uint64_t marked = 0, page = pagemap_page();
    for (uint64_t at = start; at < end;) {
        size_t wanted = (end - at) / page < ENTRIES ? (size_t)((end - at) / page) : ENTRIES;
        size_t got = pagemap_read(fd, at, dirty->entries, wanted);
        for (size_t i = 0; i < got; i++) {
            uint64_t categories = pagemap_entry_categories(dirty->entries[i]);
            if (!(categories & (PAGEMAP_PRESENT | PAGEMAP_SWAPPED)))
                continue;
            marked += (categories & PAGEMAP_SOFT_DIRTY) != 0;
            found(finder, pid, &(struct pagemap_range){at + i * page, at + (i + 1) * page, categories});
        }
        if (got == 0)
            break;
        at += got * page;
    }
    return marked;
}

static uint64_t read_all(struct soft_dirty *dirty, int fd, uint32_t pid, armer_found *found, void *finder)
{
    struct proc_maps maps = proc_maps_of(pid);
    uint64_t marked = 0;
    for (struct proc_map map; proc_maps_next(&maps, &map);)
        if (map.prot & PROT_WRITE && map.end - map.start <= LARGEST)
            marked += read_mapping(dirty, fd, pid, map.start, map.end, found, finder);
    return marked;
}

/* All pages at once: what that costs beyond `most` is made up for by passes that arm nothing. */
static uint64_t arm(void *context, uint32_t pid, uint64_t most, armer_found *found, void *finder)
{
    struct soft_dirty *dirty = context;
    uint64_t marked = 0;
    if (most == 0)
        return 0;
    int fd = pagemap_open(pid);
    if (fd < 0)
        return 0;
    if (!dirty->no_scan)
        marked = walk(dirty, fd, pid, found, finder);
    if (dirty->no_scan)
        marked = read_all(dirty, fd, pid, found, finder);
    close(fd);
    return soft_dirty_clear(pid) ? marked : 0;
}

static void nothing(void *context, uint64_t most)
{
    (void)context, (void)most;
}

static void forget(void *context, uint32_t pid, uint64_t time)
{
    (void)context, (void)pid, (void)time;
}

void soft_dirty_open(struct armer *armer)
{
    *armer = (struct armer){mem_zalloc(sizeof(struct soft_dirty)), PAGE_SOFT_DIRTY, arm, nothing, forget, free};
}
