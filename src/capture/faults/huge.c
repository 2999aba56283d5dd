/* The kernel's page table walk (PAGEMAP_SCAN, 6.7), else what smaps gives away. */
#include "capture/faults/huge.h"

#include "base/array.h"
#include "base/small_file.h"
#include "capture/faults/pagemap.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SCAN_REGIONS = 256, GAP = 8 }; /* GAP: untouched huge pages that are walked over */

struct spans { /* of huge pages, ascending */
    struct pagemap_range *items;
    size_t count, capacity;
};

/* All of [start, end) that is mapped by huge pages. */
static int scan(int fd, uint64_t start, uint64_t end, struct spans *spans)
{
    struct pagemap_range found[SCAN_REGIONS];
    while (start < end) {
        struct pagemap_request request = {
            .start = start, .end = end, .category_mask = PAGEMAP_HUGE, .return_mask = PAGEMAP_HUGE};
        int count = pagemap_scan(fd, &request, found, SCAN_REGIONS);
        if (count < 0)
            return count;
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
    struct pagemap_range region = {0};
    unsigned long kib, resident = 0;
    snprintf(path, sizeof path, "/proc/%u/smaps", pid);
    FILE *file = fopen(path, "re");
    while (file && getline(&line, &room, file) > 0) {
        uint64_t start, end;
        if (sscanf(line, "%" SCNx64 "-%" SCNx64 " ", &start, &end) == 2)
            region = (struct pagemap_range){.start = start, .end = end};
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

uint64_t huge_page_bytes(void)
{
    uint64_t bytes = (uint64_t)small_file_number(0, "/sys/kernel/mm/transparent_hugepage/hpage_pmd_size");
    return bytes & (bytes - 1) ? 0 : bytes;
}

bool huge_find(uint32_t pid, uint64_t bytes, const uint64_t *pages, size_t count, bool *huge)
{
    struct spans spans = {0};
    memset(huge, 0, count * sizeof *huge);
    if (bytes == 0 || count == 0)
        return true;
    int fd = pagemap_open(pid), code = fd < 0 ? fd : 0;
    /* Only around pages that were touched: walking all of a large mapping takes long. */
    for (size_t i = 0; i < count && code == 0;) {
        uint64_t start = pages[i] & ~(bytes - 1), end = start;
        for (; i < count && pages[i] < end + GAP * bytes; i++)
            end = (pages[i] & ~(bytes - 1)) + bytes;
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
