#include "capture/faults/own_memory.h"

#include <stdlib.h>
#include <string.h>

#define LIBRARY "/libnumalens-agent.so"
#define SHARED  "/memfd:numalens"

/* The loader maps a library's whole extent first, data without a file included: that names all of it. */
static bool ours(const char *path)
{
    size_t length = strlen(path), name = strlen(LIBRARY);
    return (length >= name && strcmp(path + length - name, LIBRARY) == 0) || strncmp(path, SHARED, strlen(SHARED)) == 0;
}

static struct own_process *find(struct own_memory *own, uint32_t pid)
{
    if (own->of && own->pid == pid)
        return own->of;
    uint64_t *place = map64_find(&own->by_pid, pid);
    own->pid = pid;
    own->of = place ? (struct own_process *)(uintptr_t)*place : NULL;
    return own->of;
}

static struct own_process *add(struct own_memory *own, uint32_t pid)
{
    struct own_process *process = find(own, pid);
    if (process)
        return process;
    process = own->of = mem_zalloc(sizeof *process);
    *map64_insert(&own->by_pid, pid, NULL) = (uintptr_t)process;
    return process;
}

void own_memory_map(struct own_memory *own, uint32_t pid, uint64_t addr, uint64_t size, const char *path)
{
    if (!ours(path))
        return;
    struct own_process *process = add(own, pid);
    array_each (&process->ranges, struct own_range, range)
        if (range->start <= addr && addr + size <= range->end)
            return;
    array_push(&process->ranges, (struct own_range){addr, addr + size});
}

void own_memory_fork(struct own_memory *own, uint32_t pid, uint32_t parent)
{
    const struct own_process *from = find(own, parent);
    if (!from || pid == parent)
        return;
    struct own_process *process = add(own, pid);
    process->ranges.count = 0;
    array_each (&from->ranges, const struct own_range, range)
        array_push(&process->ranges, *range);
}

void own_memory_forget(struct own_memory *own, uint32_t pid)
{
    struct own_process *process = find(own, pid);
    if (!process)
        return;
    map64_remove(&own->by_pid, pid);
    own->of = NULL;
    array_free(&process->ranges);
    free(process);
}

void own_memory_free(struct own_memory *own)
{
    map64_each (&own->by_pid, i) {
        struct own_process *process = (struct own_process *)(uintptr_t)own->by_pid.values[i];
        array_free(&process->ranges);
        free(process);
    }
    map64_free(&own->by_pid);
    own->of = NULL;
}

bool own_memory_has(struct own_memory *own, uint32_t pid, uint64_t addr)
{
    const struct own_process *process = find(own, pid);
    if (process)
        array_each (&process->ranges, const struct own_range, range)
            if (addr - range->start < range->end - range->start)
                return true;
    return false;
}
