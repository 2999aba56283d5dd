#include "capture/faults/code_files.h"

#include "base/mem.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SHARED_ANONYMOUS "/dev/zero (deleted)" /* as the kernel names it */

enum { FILES_MOST = 256, NO_FILE = FILES_MOST, CHANGES, RANGES_MOST = 1024, UNOPENED = -2 };

static struct code_process *find(const struct code_files *code, uint32_t pid)
{
    uint64_t *place = map64_find(&code->by_pid, pid);
    return place ? (struct code_process *)(uintptr_t)*place : NULL;
}

static struct code_process *add(struct code_files *code, uint32_t pid)
{
    struct code_process *process = find(code, pid);
    if (!process) {
        process = mem_zalloc(sizeof *process);
        *map64_insert(&code->by_pid, pid, NULL) = (uintptr_t)process;
    }
    return process;
}

static uint32_t file_of(struct code_files *code, const struct code_map *map)
{
    if (strcmp(map->path, SHARED_ANONYMOUS) == 0)
        return CHANGES;
    for (uint32_t i = 0; i < code->files.count; i++)
        if (code->files.items[i].inode == map->inode && strcmp(code->files.items[i].path, map->path) == 0)
            return i;
    if (code->files.count == FILES_MOST)
        return NO_FILE;
    array_push(&code->files, (struct code_file){mem_strdup(map->path), map->inode, UNOPENED});
    return (uint32_t)code->files.count - 1;
}

/* Something else is there now. Of a range that is cut in two the second part is forgotten. */
static void cut(struct code_process *process, uint64_t start, uint64_t end)
{
    size_t to = 0;
    for (size_t i = 0; i < process->ranges.count; i++) {
        struct code_range range = process->ranges.items[i];
        if (range.start < end && start < range.end) {
            uint64_t skipped = start > range.start ? 0 : end - range.start;
            range.end = skipped ? range.end : start;
            range.start += skipped;
            range.offset += skipped;
        }
        if (range.start < range.end)
            process->ranges.items[to++] = range;
    }
    process->ranges.count = to;
}

void code_files_map(struct code_files *code, uint32_t pid, const struct code_map *map)
{
    struct code_process *process = find(code, pid);
    bool usable = map->executable && map->path[0] == '/' && map->inode && map->addr + map->size > map->addr;
    if (process)
        cut(process, map->addr, map->addr + map->size);
    uint32_t file = usable ? file_of(code, map) : NO_FILE;
    if (file == NO_FILE)
        return;
    process = process ? process : add(code, pid);
    if (process->ranges.count < RANGES_MOST)
        array_push(&process->ranges, (struct code_range){map->addr, map->addr + map->size, map->offset, file});
}

void code_files_fork(struct code_files *code, uint32_t pid, uint32_t parent)
{
    const struct code_process *from = find(code, parent);
    if (!from || pid == parent)
        return;
    struct code_process *process = add(code, pid);
    process->ranges.count = 0;
    array_each (&from->ranges, const struct code_range, range)
        array_push(&process->ranges, *range);
}

static void free_process(struct code_process *process)
{
    array_free(&process->ranges);
    free(process);
}

void code_files_forget(struct code_files *code, uint32_t pid)
{
    struct code_process *process = find(code, pid);
    if (!process)
        return;
    map64_remove(&code->by_pid, pid);
    free_process(process);
}

void code_files_free(struct code_files *code)
{
    map64_each (&code->by_pid, i)
        free_process((struct code_process *)(uintptr_t)code->by_pid.values[i]);
    map64_free(&code->by_pid);
    array_each (&code->files, struct code_file, file) {
        if (file->fd >= 0)
            close(file->fd);
        free(file->path);
    }
    array_free(&code->files);
}

/* A path means another file in a container, and may mean another one by now. */
static int open_mapped(const struct code_file *file)
{
    int fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat status;
    if (fd >= 0 && (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) || status.st_ino != file->inode)) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static const struct code_range *range_at(const struct code_files *code, uint32_t pid, uint64_t addr)
{
    const struct code_process *process = find(code, pid);
    if (process)
        array_each (&process->ranges, const struct code_range, range)
            if (addr - range->start < range->end - range->start)
                return range;
    return NULL;
}

bool code_files_changes(const struct code_files *code, uint32_t pid, uint64_t addr)
{
    const struct code_range *range = range_at(code, pid, addr);
    return range && range->file == CHANGES;
}

size_t code_files_read(struct code_files *code, uint32_t pid, uint64_t addr, uint8_t *bytes, size_t most)
{
    const struct code_range *range = range_at(code, pid, addr);
    if (!range || range->file == CHANGES)
        return 0;
    struct code_file *file = &code->files.items[range->file];
    if (file->fd == UNOPENED)
        file->fd = open_mapped(file);
    size_t length = range->end - addr < most ? range->end - addr : most;
    ssize_t got = file->fd < 0 ? 0 : pread(file->fd, bytes, length, (off_t)(range->offset + (addr - range->start)));
    return got > 0 ? (size_t)got : 0;
}
