#include "capture/faults/instructions.h"

#include "base/units.h"

#include <sys/uio.h>

enum { MOST = 1 << 16, PID_SHIFT = 42, KERNEL_BIT = 63 }; /* PID_SHIFT: process numbers have 22 bits */

static size_t read_memory(uint32_t pid, uint64_t ip, uint8_t *bytes)
{
    /* At the end of a page, what follows may not be there. */
    uint64_t to_end = PAGE_UNIT - ip % PAGE_UNIT;
    struct iovec here = {bytes, DIRECTION_BYTES};
    struct iovec there[2] = {{(void *)(uintptr_t)ip, to_end < DIRECTION_BYTES ? to_end : DIRECTION_BYTES}, {0}};
    there[1] = (struct iovec){(void *)(uintptr_t)(ip + to_end), DIRECTION_BYTES - there[0].iov_len};
    ssize_t got = process_vm_readv((pid_t)pid, &here, 1, there, there[1].iov_len ? 2 : 1, 0);
    return got > 0 ? (size_t)got : 0;
}

/* Two addresses of one process share a key only when they are 2^42 apart and the process numbers fit: never mind. */
static uint64_t key_of(uint32_t pid, uint64_t ip)
{
    return (uint64_t)pid << PID_SHIFT ^ ip;
}

enum direction instructions_direction(struct instructions *instructions, uint32_t pid, uint64_t ip,
                                      const struct direction_registers *registers, uint64_t addr)
{
    uint8_t bytes[DIRECTION_BYTES];
    if (ip == 0 || ip >> KERNEL_BIT)
        return DIRECTION_UNKNOWN;
    if (addr - ip < DIRECTION_BYTES)
        return DIRECTION_READ; /* the instruction itself was fetched */
    if (code_files_changes(&instructions->files, pid, ip))
        return DIRECTION_UNKNOWN;
    uint64_t *kept = map64_find(&instructions->known, key_of(pid, ip));
    if (kept && *kept != DIRECTION_EITHER)
        return (enum direction) * kept;
    /* The file first: in memory there may be another program's code by now, or nothing. */
    size_t got = code_files_read(&instructions->files, pid, ip, bytes, sizeof bytes);
    if (got == 0)
        got = read_memory(pid, ip, bytes);
    if (got == 0)
        return DIRECTION_UNKNOWN; /* unmapped or ended: not remembered, another process may get the number next */
    enum direction direction = direction_here(bytes, got);
    if (!kept) {
        if (instructions->known.count >= MOST)
            map64_free(&instructions->known);
        *map64_insert(&instructions->known, key_of(pid, ip), NULL) = direction;
    }
    if (direction != DIRECTION_EITHER)
        return direction;
    return registers ? direction_pick(bytes, got, registers, addr) : DIRECTION_UNKNOWN;
}

void instructions_forget(struct instructions *instructions, uint32_t pid)
{
    map64_free(&instructions->known);
    code_files_forget(&instructions->files, pid);
}

void instructions_free(struct instructions *instructions)
{
    map64_free(&instructions->known);
    code_files_free(&instructions->files);
}
