/* capture/perf/tasks.h - processes as the kernel reports them, for those that no agent speaks for: programs that are
 * static, setuid or started with another environment.
 *
 * An agent introduces itself a moment after exec. So what the kernel says of a process is kept back until its agent is
 * known (then it is dropped: the agent says more) or the process ends (then it is reported). */
#pragma once

#include "capture/process/process_table.h"

struct tasks {
    struct sink *sink;
    struct process_table *processes;
    struct map64 by_pid; /* to struct task * */
    uint32_t first;      /* the target */
    bool follow;
    uint64_t untracked;     /* programs reported that had no agent */
    uint32_t untracked_pid; /* the last of them, and when it began */
    uint64_t untracked_time;
};

void tasks_init(struct tasks *tasks, uint32_t first, bool follow);
void tasks_free(struct tasks *tasks);

void tasks_fork(struct tasks *tasks, uint64_t time, uint32_t pid, uint32_t parent, bool thread);
void tasks_exec(struct tasks *tasks, uint64_t time, uint32_t pid, const char *name);
void tasks_map(struct tasks *tasks, uint64_t time, uint32_t pid, const struct event_map *map);
/* One thread of `pid` ended; true when it was the last. */
bool tasks_exit(struct tasks *tasks, uint64_t time, uint32_t pid);

/* Reports all that no agent spoke for. Agents gave up in `explained` of them, and have counted the cause. */
void tasks_finish(struct tasks *tasks, uint64_t explained);
