#include "migrate/history.h"

#include "base/array.h"
#include "base/map64.h"
#include "base/mem.h"

#include <stdlib.h>

struct past {
    uint32_t moves;
    uint32_t rest; /* length of the last one */
    uint64_t until;
};

struct process_past {
    uint32_t pid;
    struct map64 pages; /* address, to the index of a past */
};

struct history {
    size_t most;
    array_of(struct process_past) processes;
    array_of(struct past) pasts;
    uint64_t contended;
};

struct history *history_new(size_t most_pages)
{
    struct history *history = mem_zalloc(sizeof *history);
    history->most = most_pages ? most_pages : 1;
    return history;
}

static void forget_all(struct history *history)
{
    array_each (&history->processes, struct process_past, process)
        map64_free(&process->pages);
    history->processes.count = 0;
    history->pasts.count = 0;
}

void history_free(struct history *history)
{
    if (!history)
        return;
    forget_all(history);
    array_free(&history->processes);
    array_free(&history->pasts);
    free(history);
}

static struct process_past *process_of(const struct history *history, uint32_t pid)
{
    array_each (&history->processes, struct process_past, process)
        if (process->pid == pid)
            return process;
    return NULL;
}

static struct past *find(const struct history *history, uint32_t pid, uint64_t page)
{
    const struct process_past *process = process_of(history, pid);
    const uint64_t *index = process ? map64_find(&process->pages, page) : NULL;
    return index ? &history->pasts.items[*index] : NULL;
}

static bool is_calm(const struct past *past, uint64_t interval)
{
    return interval > past->until + HISTORY_SOON;
}

/* Keeps only those that are not calm; all are forgotten when that is not enough. */
static void make_room(struct history *history, uint64_t interval)
{
    array_of(struct past) kept = {0};
    array_each (&history->processes, struct process_past, process) {
        struct map64 pages = {0};
        map64_each (&process->pages, i) {
            const struct past *past = &history->pasts.items[process->pages.values[i]];
            if (is_calm(past, interval))
                continue;
            *map64_insert(&pages, process->pages.keys[i], NULL) = kept.count;
            array_push(&kept, *past);
        }
        map64_free(&process->pages);
        process->pages = pages;
    }
    array_free(&history->pasts);
    history->pasts.items = kept.items;
    history->pasts.count = kept.count;
    history->pasts.capacity = kept.capacity;
    if (history->pasts.count > history->most / 2)
        forget_all(history);
}

static struct past *past_of(struct history *history, uint32_t pid, uint64_t page, uint64_t interval)
{
    struct past *known = find(history, pid, page);
    if (known)
        return known;
    if (history->pasts.count >= history->most)
        make_room(history, interval);
    if (!process_of(history, pid))
        array_push(&history->processes, (struct process_past){.pid = pid});
    *map64_insert(&process_of(history, pid)->pages, page, NULL) = history->pasts.count;
    array_push(&history->pasts, (struct past){0});
    return &history->pasts.items[history->pasts.count - 1];
}

uint32_t history_moves(const struct history *history, uint32_t pid, uint64_t page)
{
    const struct past *past = find(history, pid, page);
    return past ? past->moves : 0;
}

bool history_allows(const struct history *history, uint32_t pid, uint64_t page, uint64_t interval)
{
    const struct past *past = find(history, pid, page);
    return !past || interval > past->until;
}

/* A rest that follows soon on another is twice as long. */
static bool rest(struct past *past, uint64_t interval)
{
    bool again = past->rest && !is_calm(past, interval);
    past->rest = !again ? HISTORY_REST : past->rest < HISTORY_REST_MOST ? past->rest * 2 : HISTORY_REST_MOST;
    past->until = interval + past->rest;
    return again;
}

void history_moved(struct history *history, uint32_t pid, uint64_t page, uint64_t interval)
{
    struct past *past = past_of(history, pid, page, interval);
    history->contended += rest(past, interval) && past->rest == 2 * HISTORY_REST;
    past->moves++;
}

void history_failed(struct history *history, uint32_t pid, uint64_t page, uint64_t interval)
{
    rest(past_of(history, pid, page, interval), interval);
}

void history_forget(struct history *history, uint32_t pid)
{
    struct process_past *process = process_of(history, pid);
    if (process)
        map64_free(&process->pages);
}

uint64_t history_contended(const struct history *history)
{
    return history->contended;
}
