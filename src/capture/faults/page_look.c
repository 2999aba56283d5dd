#include "capture/faults/page_look.h"

#include "base/mem.h"
#include "capture/faults/huge.h"
#include "capture/faults/pagemap.h"

#include <stdlib.h>
#include <unistd.h>

enum {
    AT_ONCE = 512,
    GAP = 32, /* entries nobody asked for that cost less than another call */
};

static void read_entries(int fd, struct page_seen *pages, size_t count)
{
    uint64_t entries[AT_ONCE], size = pagemap_page();
    for (size_t i = 0; i < count;) {
        uint64_t first = pages[i].page;
        size_t end = i;
        do
            end++;
        while (end < count && pages[end].page - first < AT_ONCE * size &&
               pages[end].page - pages[end - 1].page <= GAP * size);
        size_t got = pagemap_read(fd, first, entries, (pages[end - 1].page - first) / size + 1);
        for (; i < end; i++) {
            size_t at = (pages[i].page - first) / size;
            uint64_t entry = at < got ? entries[at] : 0;
            pages[i].there = pagemap_entry_categories(entry) & (PAGEMAP_PRESENT | PAGEMAP_SWAPPED);
            pages[i].physical = pagemap_entry_frame(entry) * size;
        }
    }
}

bool page_look(uint32_t pid, uint64_t huge_bytes, struct page_seen *pages, size_t count)
{
    int fd = pagemap_open(pid);
    if (fd < 0)
        return false;
    read_entries(fd, pages, count);
    close(fd);
    /* After that: what is there now has its size now. */
    uint64_t *addresses = mem_alloc((count + 1) * sizeof *addresses);
    bool *huge = mem_zalloc(count + 1);
    for (size_t i = 0; i < count; i++)
        addresses[i] = pages[i].page;
    if (huge_bytes)
        huge_find(pid, huge_bytes, addresses, count, huge);
    for (size_t i = 0; i < count; i++)
        pages[i].huge = huge[i];
    free(addresses);
    free(huge);
    return true;
}
