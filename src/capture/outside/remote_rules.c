#include "capture/outside/remote_rules.h"

#include "base/array.h"
#include "base/bisect.h"
#include "base/mem.h"
#include "capture/outside/code_image.h"
#include "capture/process/proc.h"
#include "executor/executor.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILES_MOST = 4096, RANGES_MOST = 16384 };

struct file {
    dev_t device;
    ino_t number;
    struct timespec changed;
    struct code_image *image; /* NULL: it says nothing */
};

struct range {
    uint64_t start, end, offset;
    uint64_t path; /* a hash of it; 0: it has none */
    uint32_t file; /* from 1; 0: none */
};

typedef array_of(struct range) range_list;

struct rule_files {
    uint64_t bytes_most; /* that are left */
    array_of(struct file) list;
};

struct remote_rules {
    uint32_t pid, number;
    struct rule_files *files;
    range_list ranges, before;
};

struct rule_files *rule_files_new(uint64_t bytes_most)
{
    struct rule_files *files = mem_zalloc(sizeof *files);
    files->bytes_most = bytes_most;
    return files;
}

void rule_files_free(struct rule_files *files)
{
    array_each (&files->list, struct file, file)
        code_image_free(file->image);
    array_free(&files->list);
    free(files);
}

struct remote_rules *remote_rules_new(uint32_t pid, struct rule_files *files)
{
    struct remote_rules *rules = mem_zalloc(sizeof *rules);
    rules->pid = pid;
    rules->files = files;
    return rules;
}

void remote_rules_free(struct remote_rules *rules)
{
    if (!rules)
        return;
    array_free(&rules->ranges);
    array_free(&rules->before);
    free(rules);
}

/* A file's number among those that are kept, from 1; 0: none. */
static uint32_t keep(struct rule_files *files, int file, const struct stat *status)
{
    for (uint32_t i = 0; i < files->list.count; i++) {
        const struct file *known = &files->list.items[i];
        if (known->device == status->st_dev && known->number == status->st_ino &&
            known->changed.tv_sec == status->st_ctim.tv_sec && known->changed.tv_nsec == status->st_ctim.tv_nsec)
            return i + 1;
    }
    if (files->list.count >= FILES_MOST)
        return 0;
    struct code_image *image = code_image_read(file, files->bytes_most);
    files->bytes_most -= code_image_bytes(image);
    array_push(&files->list, ((struct file){status->st_dev, status->st_ino, status->st_ctim, image}));
    return (uint32_t)files->list.count;
}

static uint32_t file_of(struct remote_rules *rules, const char *path)
{
    struct stat status;
    char *place = mem_format("/proc/%u/root%s", rules->pid, path);
    int file = open(place, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    uint32_t found = 0;
    free(place);
    if (file >= 0 && fstat(file, &status) == 0 && S_ISREG(status.st_mode))
        found = keep(rules->files, file, &status);
    if (file >= 0)
        close(file);
    return found;
}

static uint64_t hash_of(const char *path)
{
    uint64_t hash = 1;
    for (; *path; path++)
        hash = (hash ^ (uint8_t)*path) * 0x100000001b3u;
    return hash | 1;
}

/* Its file is not looked for again. */
static bool is_known(const struct remote_rules *rules, struct range *range)
{
    const range_list *before = &rules->before;
    size_t behind = bisect(before->count, i, before->items[i].start <= range->start);
    const struct range *known = behind ? &before->items[behind - 1] : NULL;
    if (!known || known->start != range->start || known->end != range->end || known->offset != range->offset ||
        known->path != range->path)
        return false;
    range->file = known->file;
    return true;
}

void remote_rules_look(struct remote_rules *rules)
{
    struct proc_map map;
    range_list before = rules->before;
    rules->before = rules->ranges;
    rules->ranges = before;
    rules->ranges.count = 0;
    bool same = true;
    for (struct proc_maps maps = proc_maps_of(rules->pid); proc_maps_next(&maps, &map);) {
        if (!(map.prot & PROT_EXEC) || map.start >= 1ull << 63 || rules->ranges.count >= RANGES_MOST)
            continue;
        struct range range = {
            .start = map.start, .end = map.end, .offset = map.offset, .path = *map.path == '/' ? hash_of(map.path) : 0};
        if (!is_known(rules, &range)) {
            range.file = range.path ? file_of(rules, map.path) : 0;
            same = false;
        }
        array_push(&rules->ranges, range);
    }
    if (!rules->number || !same || rules->ranges.count != rules->before.count)
        rules->number += rules->number == UINT32_MAX ? 2 : 1;
}

uint32_t remote_rules_number(const struct remote_rules *rules)
{
    return rules->number;
}

struct unwind_rule remote_rules_of(const struct remote_rules *rules, uint64_t address)
{
    const range_list *ranges = &rules->ranges;
    size_t behind = bisect(ranges->count, i, ranges->items[i].start <= address);
    const struct range *range = behind ? &ranges->items[behind - 1] : NULL;
    if (!range || address >= range->end)
        return (struct unwind_rule){.kind = EXECUTOR_NO_CODE};
    const struct code_image *image = range->file ? rules->files->list.items[range->file - 1].image : NULL;
    return image ? code_image_rule(image, range->offset + (address - range->start))
                 : (struct unwind_rule){.kind = UNWIND_NONE};
}
