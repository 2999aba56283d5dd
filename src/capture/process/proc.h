/* capture/process/proc.h - a process that runs already, as /proc reports it: program, threads, mappings, binaries. */
#pragma once

#include "base/array.h"
#include "capture/process/process_table.h"
#include "symbols/symbols.h"

#include <stdio.h>

#define PROC_GO_HEAP "[Go heap]"

struct proc_map {
    uint64_t start, end, offset;
    uint32_t prot, flags; /* as given to mmap */
    const char *path;     /* "" when it has none; PROC_GO_HEAP */
};

/* One line of /proc/PID/maps; its end is cut off, and `path` points into it. False when it is none. */
bool proc_map_parse(char *line, struct proc_map *map);

/* All of them: for (struct proc_maps maps = proc_maps_of(pid); proc_maps_next(&maps, &map);). A path is good until the next one. Closes itself
 * after the last; who stops before closes it. */
struct proc_maps {
    FILE *file; /* NULL: ended, or not ours to look at */
    char *line;
    size_t room;
};
struct proc_maps proc_maps_of(uint32_t pid);
bool proc_maps_next(struct proc_maps *maps, struct proc_map *map);
void proc_maps_close(struct proc_maps *maps);

/* Whether a JVM is in the process; then what it uses an anonymous mapping for, as its path. */
bool proc_is_java(uint32_t pid);
void proc_map_name(struct proc_map *map, bool is_java);

/* Whether it is memory of a device, which reading may change: registers, say. */
bool proc_map_is_device(uint32_t pid, const struct proc_map *map);

/* What kind of mapping has that path, in /proc or in perf's words. */
enum map_kind proc_map_kind(const char *path, uint32_t flags);

/* The range of the whole binary of module->path, from one mapping of it. Without the binary at hand: that mapping's. */
void proc_place_module(struct symbols *symbols, struct event_module *module, const struct event_map *map);

/* Appends EVENT_MAP and, for code of a file, EVENT_MODULE_LOAD with the file's build-id. Anonymous mappings get no path. `root`: where the
 * process's files are, seen from here; "": where they are for it. */
void proc_report_map(struct sink *sink, struct symbols *symbols, const char *root, uint32_t pid, uint64_t time,
                     struct event_map map);

/* What runs in it, as far as it is still there: else `name` stands for both. */
struct proc_program {
    char exe[4096], command[4096];
};

void proc_program(uint32_t pid, const char *name, struct proc_program *program);

struct proc_range {
    uint64_t start, end;
};

/* Where a process has code, as far as it was reported. */
struct proc_code {
    array_of(struct proc_range) ranges;
};

bool proc_code_has(const struct proc_code *code, uint64_t pc);

/* Reports mappings of code that are not in `code` yet, and adds them. */
void proc_report_code(struct sink *sink, struct symbols *symbols, const char *root, uint32_t pid, uint64_t time,
                      struct proc_code *code);

/* Starts the process in the table as it is now, with `time` for everything, and puts its code into `code`. It is started without a name
 * when it has ended or is not ours to look at. */
struct capture_process *proc_report(struct process_table *processes, struct symbols *symbols, const char *root,
                                    uint32_t pid, uint64_t time, struct proc_code *code);

/* Calls visit() for each thread. */
void proc_each_thread(uint32_t pid, void (*visit)(uint32_t tid, void *context), void *context);

/* The name of a thread, "" when it is not known. */
void proc_thread_name(uint32_t pid, uint32_t tid, char name[static 32]);
