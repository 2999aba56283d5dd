/* capture/outside/remote_memory.h - reads another process's memory, as far as it is there: a page that is not in memory is not
 * brought in for it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { REMOTE_BLOCK = 64 << 10 };

struct remote_memory {
    int mem, pagemap;
    uint64_t low, high;
    uint64_t block; /* that is at hand, or 1 */
    uint32_t pages; /* of it, those that are there: a bit for each */
    uint8_t bytes[REMOTE_BLOCK];
};

/* Of /proc/PID, to be read; -1 with errno. */
int remote_file(uint32_t pid, const char *name);

/* False: not ours to read, or ended. */
bool remote_open(struct remote_memory *memory, uint32_t pid);
void remote_close(struct remote_memory *memory);

/* What is read from now on is within these bounds: beside them may be a device, which reading may change. */
static inline void remote_within(struct remote_memory *memory, uint64_t low, uint64_t high)
{
    memory->low = low;
    memory->high = high;
    memory->block = 1;
}

/* Eight bytes at a multiple of eight; false: not there. What was read before may come from the same look. */
bool remote_word(struct remote_memory *memory, uint64_t addr, uint64_t *word);
