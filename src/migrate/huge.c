/* migrate/huge.c - which pages are parts of transparent huge pages: the kernel's page table walk (PAGEMAP_SCAN, 6.7), else
 * what smaps gives away. */
#include "migrate/ranges.h"

#include "base/array.h"
#include "migrate/page_map.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/types.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* Of linux/fs.h, newer than some systems' headers. */
struct scan_region {
    __u64 start, end, categories;
};

struct scan_request {
    __u64 size, flags, start, end, walk_end, vec, vec_len, max_pages;
    __u64 category_inverted, category_mask, category_anyof_mask, return_mask;
};

#define SCAN_IOCTL _IOWR('f', 16, struct scan_request)

enum { SCAN_IS_HUGE = 1 << 6, SCAN_REGIONS = 256, GAP = 8 }; /* GAP: untouched huge pages that are walked over */

struct spans { /* of huge pages, ascending */
    struct scan_region *items;
    size_t count, capacity;
};

/* All of [start, end) that is mapped by huge pages. */
static int scan(int fd, uint64_t start, uint64_t end, struct spans *spans)
{
    struct scan_region found[SCAN_REGIONS];
    while (start < end) {
        struct scan_request request = {.size = sizeof request,
                                       .start = start,
                                       .end = end,
                                       .vec = (uintptr_t)found,
                                       .vec_len = SCAN_REGIONS,
                                       .category_mask = SCAN_IS_HUGE,
                                       .return_mask = SCAN_IS_HUGE};
        int count = ioctl(fd, SCAN_IOCTL, &request);
        if (count < 0)
            return -errno;
        for (int i = 0; i < count; i++)
            array_push(spans, found[i]);
        if (request.walk_end <= start)
            break;
        start = request.walk_end;
    }
    return 0;
}

/* Mappings whose present anonymous memory is all in huge pages. */
static void guess(uint32_t pid, struct spans *spans)
{
    char path[64], *line = NULL;
    size_t room = 0;
    struct scan_region region = {0};
    unsigned long kib, resident = 0;
    snprintf(path, sizeof path, "/proc/%u/smaps", pid);
    FILE *file = fopen(path, "re");
    while (file && getline(&line, &room, file) > 0) {
        uint64_t start, end;
        if (sscanf(line, "%" SCNx64 "-%" SCNx64 " ", &start, &end) == 2)
            region = (struct scan_region){.start = start, .end = end};
        else if (sscanf(line, "Rss: %lu", &kib) == 1)
            resident = kib;
        else if (sscanf(line, "AnonHugePages: %lu", &kib) == 1 && kib && kib == resident)
            array_push(spans, region);
    }
    if (file)
        fclose(file);
    free(line);
}

static void mark(const struct spans *spans, const uint64_t *pages, size_t count, bool *huge)
{
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        while (at < spans->count && spans->items[at].end <= pages[i])
            at++;
        huge[i] |= at < spans->count && spans->items[at].start <= pages[i];
    }
}

bool ranges_huge(const struct ranges *ranges, uint32_t pid, const uint64_t *pages, size_t count, bool *huge)
{
    char path[64];
    struct spans spans = {0};
    memset(huge, 0, count * sizeof *huge);
    if (ranges->huge_bytes == 0 || count == 0)
        return true;
    snprintf(path, sizeof path, "/proc/%u/pagemap", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC), code = fd < 0 ? -errno : 0;
    /* Only around pages that were touched: walking all of a large mapping takes long. */
    for (size_t i = 0; i < count && code == 0;) {
        uint64_t start = pages[i] & ~(ranges->huge_bytes - 1), end = start;
        for (; i < count && pages[i] < end + GAP * ranges->huge_bytes; i++)
            end = (pages[i] & ~(ranges->huge_bytes - 1)) + ranges->huge_bytes;
        code = scan(fd, start, end, &spans);
    }
    if (fd >= 0)
        close(fd);
    if (code < 0) {
        spans.count = 0;
        guess(pid, &spans);
    }
    mark(&spans, pages, count, huge);
    array_free(&spans);
    return code == 0;
}
