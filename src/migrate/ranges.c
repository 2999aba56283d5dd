#include "migrate/ranges.h"

#include "base/array.h"
#include "base/bisect.h"
#include "capture/faults/huge.h"
#include "capture/process/procfs.h"
#include "migrate/page_map.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void parse_maps(struct ranges *ranges, FILE *maps)
{
    char *line = NULL;
    size_t room = 0;
    while (getline(&line, &room, maps) > 0) {
        uint64_t start, end;
        char prot[5] = "";
        unsigned long inode = 0;
        int name = 0;
        if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %*x %*x:%*x %lu %n", &start, &end, prot, &inode, &name) < 4)
            continue;
        struct range range = {.start = start, .end = end, .page_bytes = (uint64_t)1 << page_shift()};
        range.file = inode != 0;
        range.special = name && line[name] == '[' && strncmp(line + name, "[heap]", 6) != 0 &&
                        strncmp(line + name, "[stack", 6) != 0 && strncmp(line + name, "[anon", 5) != 0;
        array_push(ranges, range);
    }
    free(line);
}

static bool is_bound(const char *policy)
{
    /* What a thread has without having asked for anything. */
    return strcmp(policy, "default") != 0 && strcmp(policy, "local") != 0;
}

/* "7f00 interleave:0-3 anon=12 ... kernelpagesize_kB=4"; starts are in the same order as in maps. */
static void parse_numa_maps(struct ranges *ranges, FILE *numa_maps)
{
    char *line = NULL;
    size_t room = 0, at = 0;
    while (getline(&line, &room, numa_maps) > 0) {
        uint64_t start;
        char policy[64];
        if (sscanf(line, "%" SCNx64 " %63s", &start, policy) != 2)
            continue;
        while (at < ranges->count && ranges->items[at].start < start)
            at++;
        if (at == ranges->count || ranges->items[at].start != start)
            continue; /* the process changed its mappings between the two files */
        ranges->items[at].bound = is_bound(policy);
        const char *size = strstr(line, "kernelpagesize_kB=");
        unsigned long kib = size ? strtoul(size + sizeof "kernelpagesize_kB=" - 1, NULL, 10) : 0;
        if (kib * 1024 > ranges->items[at].page_bytes)
            ranges->items[at].page_bytes = kib * 1024;
    }
    free(line);
}

void ranges_parse(struct ranges *ranges, FILE *maps, FILE *numa_maps)
{
    ranges->count = 0;
    parse_maps(ranges, maps);
    if (numa_maps)
        parse_numa_maps(ranges, numa_maps);
}

int ranges_read(struct ranges *ranges, uint32_t pid)
{
    *ranges = (struct ranges){.huge_bytes = huge_page_bytes()};
    FILE *maps = procfs_open(pid, "maps"), *numa_maps = procfs_open(pid, "numa_maps");
    int code = maps ? 0 : errno == ENOENT ? -ESRCH : -errno;
    if (maps)
        ranges_parse(ranges, maps, numa_maps);
    if (maps)
        fclose(maps);
    if (numa_maps)
        fclose(numa_maps);
    return code;
}

void ranges_free(struct ranges *ranges)
{
    array_free(ranges);
}

const struct range *ranges_find(const struct ranges *ranges, uint64_t addr)
{
    size_t low = bisect(ranges->count, i, ranges->items[i].end <= addr);
    return low < ranges->count && ranges->items[low].start <= addr ? &ranges->items[low] : NULL;
}

bool ranges_huge(const struct ranges *ranges, uint32_t pid, const uint64_t *pages, size_t count, bool *huge)
{
    return huge_find(pid, ranges->huge_bytes, pages, count, huge);
}
