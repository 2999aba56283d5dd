#include "capture/process/process_table.h"

#include "base/mem.h"

#include <stdlib.h>
#include <xxhash.h>

/* A map that has just grown: two slots of 16 bytes for each chain, and the old map beside it for a moment. */
enum { BYTES_PER_STACK = 48 };

void process_table_init(struct process_table *table, struct sink *sink, size_t memory)
{
    *table = (struct process_table){.sink = sink, .stacks_most = memory / BYTES_PER_STACK};
}

static void forget_stacks(struct process_table *table, struct capture_process *process)
{
    table->stacks -= process->stacks.count;
    map64_free(&process->stacks);
}

void process_table_free(struct process_table *table)
{
    map64_each (&table->by_pid, i) {
        struct capture_process *process = (struct capture_process *)(uintptr_t)table->by_pid.values[i];
        map64_free(&process->stacks);
        free(process);
    }
    map64_free(&table->by_pid);
}

struct capture_process *process_find(const struct process_table *table, uint32_t pid)
{
    uint64_t *place = map64_find(&table->by_pid, pid);
    return place ? (struct capture_process *)(uintptr_t)*place : NULL;
}

struct capture_process *process_child(const struct process_table *table, uint32_t parent, uint32_t local)
{
    struct capture_process *found = NULL; /* the newest: numbers come again */
    map64_each (&table->by_pid, i) {
        struct capture_process *process = (struct capture_process *)(uintptr_t)table->by_pid.values[i];
        if (process->local == local && process->parent == parent && (!found || process->start > found->start))
            found = process;
    }
    return found;
}

struct capture_process *process_start(struct process_table *table, const struct event *event, uint32_t image)
{
    bool is_new;
    uint64_t *place = map64_insert(&table->by_pid, event->pid, &is_new);
    if (is_new)
        *place = (uintptr_t)mem_zalloc(sizeof(struct capture_process));
    struct capture_process *process = (struct capture_process *)(uintptr_t)*place;
    const struct capture_process *parent = event->process.forked ? process_find(table, event->process.parent) : NULL;
    forget_stacks(table, process);
    process->pid = event->pid;
    process->parent = event->process.parent;
    process->image = image;
    process->start = event->time;
    process->announced = true;
    process->ended = false;
    if (parent && parent->last_stack > process->last_stack)
        process->last_stack = parent->last_stack;
    table->started++;
    sink_put(table->sink, event);
    return process;
}

void process_end(struct process_table *table, struct capture_process *process, uint64_t time, int status)
{
    if (process->ended)
        return;
    process->ended = true;
    forget_stacks(table, process);
    struct event event = {.time = time, .pid = process->pid, .tid = process->pid, .kind = EVENT_PROCESS_EXIT};
    event.exit_status = status;
    sink_put(table->sink, &event);
}

uint32_t process_stack(struct process_table *table, struct capture_process *process, const uint64_t *frames,
                       uint16_t depth, bool cut)
{
    if (depth == 0)
        return 0;
    uint64_t hash = XXH3_64bits_withSeed(frames, depth * sizeof *frames, cut);
    uint64_t *known = map64_find(&process->stacks, hash);
    if (known)
        return (uint32_t)*known;
    if (table->stacks >= table->stacks_most) {
        table->stacks_lost++;
        return 0;
    }
    table->stacks++;
    *map64_insert(&process->stacks, hash, NULL) = ++process->last_stack;
    /* It gets the time of the image's start: another thread's earlier event, drained later, may name it too. */
    struct event event = {.time = process->start, .pid = process->pid, .tid = process->pid, .kind = EVENT_STACK};
    event.stack = (struct event_stack){process->last_stack, depth, cut, frames};
    sink_put(table->sink, &event);
    return process->last_stack;
}

void process_table_prune(struct process_table *table)
{
    struct map64 kept = {0};
    map64_each (&table->by_pid, i) {
        struct capture_process *process = (struct capture_process *)(uintptr_t)table->by_pid.values[i];
        if (process->ended && process->rings == 0) {
            forget_stacks(table, process);
            free(process);
        } else {
            *map64_insert(&kept, process->pid, NULL) = (uintptr_t)process;
        }
    }
    map64_free(&table->by_pid);
    table->by_pid = kept;
}

size_t process_table_memory(const struct process_table *table)
{
    return table->stacks * BYTES_PER_STACK + table->by_pid.count * (sizeof(struct capture_process) + 32);
}
