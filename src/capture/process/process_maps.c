#include "capture/process/process_maps.h"

#include "base/array.h"
#include "base/bisect.h"
#include "base/clock.h"
#include "base/mem.h"
#include "capture/process/proc.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
    SOONEST_NS = 1000000, /* between two looks at one process; */
    LATEST_NS = 50000000,
    PART = 50,          /* and so much more than the last look took */
    MISSING_MOST = 256, /* of one process, until it is looked at again */
    LINE_BYTES = 160,   /* of memory, about */
};

struct line {
    uint64_t start, end, offset;
    bool reported;
    char *path;
};

struct missing { /* a sample outside of all known maps */
    uint64_t addr, time;
};

struct asked { /* a process as it was when it was last looked at */
    uint32_t pid;
    uint64_t image, looked, wait; /* image: when it began */
    bool is_java;
    uint64_t reported; /* when all that is sampled began to be reported again */
    array_of(struct line) lines;
    array_of(struct missing) missing;
};

struct capture_maps {
    struct sink *sink;
    const struct process_table *processes;
    struct map64 by_pid; /* to struct asked * */
    struct asked *last;
    size_t lines, most, missing;
};

struct capture_maps *capture_maps_new(struct sink *sink, const struct process_table *processes, size_t memory)
{
    struct capture_maps *maps = mem_zalloc(sizeof *maps);
    maps->sink = sink;
    maps->processes = processes;
    maps->most = memory / LINE_BYTES;
    return maps;
}

static void forget_lines(struct capture_maps *maps, struct asked *asked)
{
    maps->lines -= asked->lines.count;
    array_each (&asked->lines, struct line, line)
        free(line->path);
    array_free(&asked->lines);
}

static void forget_missing(struct capture_maps *maps, struct asked *asked)
{
    maps->missing -= asked->missing.count;
    asked->missing.count = 0;
}

static void forget_all(struct capture_maps *maps)
{
    map64_each (&maps->by_pid, i) {
        struct asked *asked = (struct asked *)(uintptr_t)maps->by_pid.values[i];
        forget_lines(maps, asked);
        array_free(&asked->missing);
        free(asked);
    }
    map64_free(&maps->by_pid);
    maps->last = NULL;
    maps->missing = 0;
}

void capture_maps_free(struct capture_maps *maps)
{
    if (!maps)
        return;
    forget_all(maps);
    free(maps);
}

static struct line *find(const struct asked *asked, uint64_t addr)
{
    size_t low = bisect(asked->lines.count, i, asked->lines.items[i].end <= addr);
    return low < asked->lines.count && asked->lines.items[low].start <= addr ? &asked->lines.items[low] : NULL;
}

/* Maps are reported again after LATEST_NS only: meanwhile one may have been unmapped and mapped again. */
static void look(struct capture_maps *maps, struct asked *asked, uint64_t now)
{
    struct proc_map map;
    uint64_t began = clock_now_ns();
    struct asked before = *asked;
    asked->looked = now;
    asked->wait = LATEST_NS;
    struct proc_maps all = proc_maps_of(asked->pid);
    if (!all.file)
        return; /* ended, or not ours to look at: what is known stays */
    if (asked->lines.count == 0)
        asked->is_java = proc_is_java(asked->pid);
    bool again = now - asked->reported >= LATEST_NS;
    if (again)
        asked->reported = now;
    memset(&asked->lines, 0, sizeof asked->lines);
    while (maps->lines - before.lines.count < maps->most && proc_maps_next(&all, &map)) {
        proc_map_name(&map, asked->is_java);
        const struct line *old = again ? NULL : find(&before, map.start);
        bool reported = old && old->reported && old->start == map.start && old->end == map.end &&
                        old->offset == map.offset && strcmp(old->path, map.path) == 0;
        array_push(&asked->lines, (struct line){map.start, map.end, map.offset, reported, mem_strdup(map.path)});
        maps->lines++;
    }
    forget_lines(maps, &before);
    proc_maps_close(&all);
    asked->wait = (clock_now_ns() - began) * PART;
    asked->wait = asked->wait < SOONEST_NS ? SOONEST_NS : asked->wait > LATEST_NS ? LATEST_NS : asked->wait;
}

static struct asked *asked_for(struct capture_maps *maps, uint32_t pid)
{
    if (maps->last && maps->last->pid == pid)
        return maps->last;
    if (maps->lines >= maps->most)
        forget_all(maps);
    bool is_new;
    uint64_t *place = map64_insert(&maps->by_pid, pid, &is_new);
    if (is_new) {
        *place = (uintptr_t)mem_zalloc(sizeof(struct asked));
        ((struct asked *)(uintptr_t)*place)->pid = pid;
    }
    return maps->last = (struct asked *)(uintptr_t)*place;
}

static void report(struct capture_maps *maps, uint32_t pid, struct line *line, uint64_t time)
{
    line->reported = true;
    if (strncmp(line->path, "[stack", 6) == 0)
        return; /* threads report theirs */
    struct event event = {.time = time, .pid = pid, .tid = pid, .kind = EVENT_MAP};
    event.map = (struct event_map){.addr = line->start,
                                   .size = line->end - line->start,
                                   .offset = line->offset,
                                   .flags = MAP_PRIVATE,
                                   .path = line->path};
    if (strcmp(line->path, "[heap]") == 0)
        event.map.map_kind = MAP_KIND_BRK;
    else if (line->path[0] == '[')
        event.map.map_kind = MAP_KIND_OTHER;
    else
        event.map.map_kind = line->path[0] ? MAP_KIND_FILE : MAP_KIND_ANONYMOUS;
    sink_put(maps->sink, &event);
}

/* False when nothing is there. */
static bool report_at(struct capture_maps *maps, const struct asked *asked, uint64_t addr, uint64_t time)
{
    struct line *line = find(asked, addr);
    if (line && !line->reported)
        report(maps, asked->pid, line, time);
    return line;
}

static void look_for_missing(struct capture_maps *maps, struct asked *asked, uint64_t now)
{
    look(maps, asked, now);
    bool found = asked->missing.count == 0;
    array_each (&asked->missing, const struct missing, missing)
        found |= report_at(maps, asked, missing->addr, missing->time);
    if (!found)
        asked->wait = LATEST_NS; /* unmapped, or never there */
    forget_missing(maps, asked);
}

void capture_maps_sample(struct capture_maps *maps, uint32_t pid, uint64_t addr, uint64_t time)
{
    const struct capture_process *process = process_find(maps->processes, pid);
    struct asked *asked = asked_for(maps, pid);
    if (process && asked->image != process->start) { /* another program by now */
        asked->image = process->start;
        asked->looked = 0;
        forget_lines(maps, asked);
        forget_missing(maps, asked);
    }
    if (!find(asked, addr)) {
        if (asked->looked == 0 || time >= asked->looked + asked->wait) {
            look_for_missing(maps, asked, time);
        } else if (asked->missing.count < MISSING_MOST) {
            array_push(&asked->missing, (struct missing){addr, time});
            maps->missing++;
        }
    }
    report_at(maps, asked, addr, time);
}

void capture_maps_poll(struct capture_maps *maps, uint64_t now)
{
    for (size_t i = 0; i < maps->by_pid.capacity && maps->missing; i++) {
        struct asked *asked = (struct asked *)(uintptr_t)maps->by_pid.values[i];
        if (maps->by_pid.keys[i] != MAP64_EMPTY && asked->missing.count && now >= asked->looked + asked->wait)
            look_for_missing(maps, asked, now);
    }
}

static void drain(void *context, uint64_t until, struct source_level *level)
{
    (void)level;
    capture_maps_poll(context, until);
}

static void close_maps(void *context)
{
    capture_maps_free(context);
}

struct source capture_maps_source(struct capture_maps *maps)
{
    return (struct source){.kind = FROM_MAPS, .context = maps, .drain = drain, .close = close_maps};
}
