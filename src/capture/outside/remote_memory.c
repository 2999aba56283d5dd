#include "capture/outside/remote_memory.h"

#include "base/units.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { BLOCK_UNITS = REMOTE_BLOCK / PAGE_UNIT, PRESENT = 63 };
_Static_assert(REMOTE_BLOCK % PAGE_LARGEST == 0, "a block has whole pages");

int remote_file(uint32_t pid, const char *name)
{
    char path[48];
    snprintf(path, sizeof path, "/proc/%u/%s", pid, name);
    return open(path, O_RDONLY | O_CLOEXEC);
}

bool remote_open(struct remote_memory *memory, uint32_t pid)
{
    memory->mem = remote_file(pid, "mem");
    memory->pagemap = remote_file(pid, "pagemap");
    remote_within(memory, 0, 0);
    if (memory->mem >= 0 && memory->pagemap >= 0)
        return true;
    remote_close(memory);
    return false;
}

void remote_close(struct remote_memory *memory)
{
    if (memory->mem >= 0)
        close(memory->mem);
    if (memory->pagemap >= 0)
        close(memory->pagemap);
    memory->mem = memory->pagemap = -1;
}

/* Runs of pages that are there, each with one read. */
static void read_block(struct remote_memory *memory, uint64_t block)
{
    uint64_t entries[BLOCK_UNITS] = {0},
             page = (uint64_t)sysconf(_SC_PAGESIZE); /* of the kernel, which may be larger */
    unsigned units = (unsigned)(page / PAGE_UNIT);
    memory->block = block;
    memory->pages = 0;
    if (pread(memory->pagemap, entries, BLOCK_UNITS / units * sizeof *entries,
              (off_t)(block / page * sizeof *entries)) <= 0)
        return;
    for (unsigned i = 0; i < BLOCK_UNITS;) {
        unsigned end = i;
        while (end < BLOCK_UNITS && entries[end / units] >> PRESENT &&
               block + (uint64_t)end * PAGE_UNIT - memory->low < memory->high - memory->low)
            end++;
        size_t bytes = (size_t)(end - i) * PAGE_UNIT;
        if (bytes && pread(memory->mem, memory->bytes + (size_t)i * PAGE_UNIT, bytes,
                           (off_t)(block + (uint64_t)i * PAGE_UNIT)) == (ssize_t)bytes)
            memory->pages |= ((1u << (end - i)) - 1) << i;
        i = end + 1;
    }
}

bool remote_word(struct remote_memory *memory, uint64_t addr, uint64_t *word)
{
    uint64_t block = addr & ~(uint64_t)(REMOTE_BLOCK - 1);
    if (block != memory->block)
        read_block(memory, block);
    uint64_t offset = addr - block;
    if (!(memory->pages >> offset / PAGE_UNIT & 1))
        return false;
    memcpy(word, memory->bytes + offset, sizeof *word);
    return true;
}
