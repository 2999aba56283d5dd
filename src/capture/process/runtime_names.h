/* capture/process/runtime_names.h - names of code that the target's runtimes make: perf maps and jitdumps that they write are followed
 * while they grow and read to their end when the process has ended, as EVENT_RUNTIME_CODE.
 *
 * The files are the target's and may hold anything. They are opened below its own root (a container's too), through no symbolic link but root's,
 * only when they are plain files of the user that the process runs as, and read up to a bound, at each look and in all. An entry counts from the look before the one
 * that found it: code that takes the place of other code is known by its name within the time between two looks. */
#pragma once

#include "capture/process/process_table.h"
#include "capture/source.h"

struct runtime_names;

enum { RUNTIME_NAME_BYTES = 512 }; /* of memory in the recorder that a name in the trace may cost, with rotation */

/* At most `most` names in all. */
struct runtime_names *runtime_names_new(struct sink *sink, const struct process_table *processes, uint64_t most);

/* The process has mapped a file: a jitdump makes itself known by this. */
void runtime_names_mapped(struct runtime_names *names, uint32_t pid, const char *path);

struct source runtime_names_source(struct runtime_names *names);
