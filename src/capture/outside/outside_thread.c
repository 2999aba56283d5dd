#include "capture/outside/outside_thread.h"

#include "capture/process/proc.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A file of a thread's, which the kernel writes when it is read. */
static bool read_text(uint32_t pid, uint32_t tid, const char *name, char *text, size_t size)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%u/task/%u/%s", pid, tid, name);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = file >= 0 ? read(file, text, size - 1) : -1;
    if (file >= 0)
        close(file);
    text[got > 0 ? got : 0] = '\0';
    return got > 0;
}

uint64_t outside_thread_cpu(uint32_t pid, uint32_t tid)
{
    char text[96];
    uint64_t ns = 0;
    return read_text(pid, tid, "schedstat", text, sizeof text) && sscanf(text, "%" SCNu64, &ns) == 1 ? ns : 0;
}

/* Its third field, a letter, and what is behind it: man 5 proc. NULL: it has ended. */
static const char *read_state(uint32_t pid, uint32_t tid, char *text, size_t size)
{
    const char *at = read_text(pid, tid, "stat", text, size) ? strrchr(text, ')') : NULL; /* a name may have blanks */
    return at && at[1] == ' ' ? at + 2 : NULL;
}

bool outside_thread_is_zombie(uint32_t pid, uint32_t tid)
{
    char text[1024];
    const char *state = read_state(pid, tid, text, sizeof text);
    return state && *state == 'Z';
}

bool outside_thread_runs(uint32_t pid, struct outside_thread *thread)
{
    enum { PROCESSOR = 39, STATE = 3 }; /* fields, from 1 */
    char text[1024];
    const char *at = read_state(pid, thread->tid, text, sizeof text);
    if (!at || *at != 'R')
        return false;
    for (unsigned field = STATE; field < PROCESSOR && at; field++)
        if ((at = strchr(at, ' ')))
            at++;
    thread->cpu = at ? (uint16_t)strtoul(at, NULL, 10) : UINT16_MAX;
    return true;
}

void outside_thread_stack(struct sink *sink, uint32_t pid, struct outside_thread *thread, uint64_t sp, uint64_t time)
{
    char name[32];
    struct proc_map map;
    bool found = false;
    if (thread->has_stack)
        return;
    thread->has_stack = true;
    struct proc_maps maps = proc_maps_of(pid);
    while (!found && proc_maps_next(&maps, &map))
        found = sp >= map.start && sp < map.end && strcmp(map.path, PROC_GO_HEAP) != 0;
    proc_maps_close(&maps);
    if (!found)
        return;
    thread->stack_low = map.start;
    thread->stack_high = map.end;
    proc_thread_name(pid, thread->tid, name);
    struct event event = {.time = time, .pid = pid, .tid = thread->tid, .kind = EVENT_THREAD_START};
    event.thread = (struct event_thread){.name = name, .stack_low = map.start, .stack_high = map.end};
    sink_put(sink, &event);
}
