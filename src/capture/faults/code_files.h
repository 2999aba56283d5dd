/* capture/faults/code_files.h - the files that processes have mapped as code: an instruction can be read after its
 * process has ended or runs another program. Bounded: what does not fit is read from the process's memory alone. */
#pragma once

#include "base/array.h"
#include "base/map64.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct code_map { /* as the kernel reports it */
    uint64_t addr, size, offset, inode;
    bool executable;
    const char *path;
};

struct code_range {
    uint64_t start, end, offset;
    uint32_t file;
};

struct code_process {
    array_of(struct code_range) ranges; /* none covers a part of another */
};

struct code_file {
    char *path;
    uint64_t inode;
    int fd; /* -1: cannot be read, or is not the one that was mapped; -2: not tried yet */
};

struct code_files {      /* zeroed = empty and ready */
    struct map64 by_pid; /* to struct code_process * */
    array_of(struct code_file) files;
};

void code_files_map(struct code_files *code, uint32_t pid, const struct code_map *map);
void code_files_fork(struct code_files *code, uint32_t pid, uint32_t parent);
void code_files_forget(struct code_files *code, uint32_t pid);
void code_files_free(struct code_files *code);

/* Whether the code at `addr` is shared memory of no file: written through another mapping, as the sampler writes its copies of the
 * program's instructions. What is there by the time of a look is not what ran. */
bool code_files_changes(const struct code_files *code, uint32_t pid, uint64_t addr);

/* What was mapped at `addr`; returns how many bytes, 0 when that is not known. */
size_t code_files_read(struct code_files *code, uint32_t pid, uint64_t addr, uint8_t *bytes, size_t most);
