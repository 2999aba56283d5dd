#include "capture/outside/outside_locals.h"

#include "capture/outside/remote_memory.h"

#include <elf.h>
#include <unistd.h>

enum { SEGMENTS = 64, AUXV = 64 };
#define BLOCK_MOST (1ull << 30)

struct locals {
    uint64_t module; /* where the executable starts */
    Elf64_Phdr block;
};

/* The kernel says where it put the program headers, which are in the first page of the file. */
static uint64_t headers_of(uint32_t pid)
{
    Elf64_auxv_t words[AUXV];
    int file = remote_file(pid, "auxv");
    ssize_t got = file >= 0 ? read(file, words, sizeof words) : 0;
    uint64_t headers = 0;
    for (ssize_t i = 0; (i + 1) * (ssize_t)sizeof *words <= got; i++)
        if (words[i].a_type == AT_PHDR)
            headers = words[i].a_un.a_val;
    if (file >= 0)
        close(file);
    return headers;
}

static bool read_block(uint32_t pid, struct locals *locals)
{
    Elf64_Ehdr head;
    Elf64_Phdr segments[SEGMENTS];
    int file = remote_file(pid, "exe");
    bool found = false;
    if (file >= 0 && pread(file, &head, sizeof head, 0) == (ssize_t)sizeof head &&
        head.e_phentsize == sizeof *segments && head.e_phnum <= SEGMENTS &&
        pread(file, segments, head.e_phnum * sizeof *segments, (off_t)head.e_phoff) ==
            (ssize_t)(head.e_phnum * sizeof *segments))
        for (unsigned i = 0; i < head.e_phnum && !found; i++)
            if ((found = segments[i].p_type == PT_TLS))
                *locals = (struct locals){headers_of(pid) - head.e_phoff, segments[i]};
    if (file >= 0)
        close(file);
    uint64_t align = found ? locals->block.p_align : 0;
    return found && locals->module < 1ull << 63 && locals->block.p_memsz - 1 < BLOCK_MOST && align < BLOCK_MOST &&
           (align & (align - 1)) == 0;
}

/* As the ABI of each processor has it: right below the thread pointer, or above two words at it. */
static uint64_t distance_of(const Elf64_Phdr *block)
{
    uint64_t align = block->p_align ? block->p_align : 1, first = block->p_vaddr & (align - 1);
#if defined(__x86_64__)
    return first - (((block->p_memsz + first) + align - 1) & ~(align - 1));
#else
    return ((2 * sizeof(uint64_t) - first + align - 1) & ~(align - 1)) + first;
#endif
}

void outside_locals(struct sink *sink, uint32_t pid, uint32_t tid, uint64_t pointer, uint64_t time)
{
    struct locals locals;
    if (!pointer || !read_block(pid, &locals))
        return;
    struct event event = {.time = time, .pid = pid, .tid = tid, .kind = EVENT_MAP};
    event.map = (struct event_map){.addr = pointer + distance_of(&locals.block),
                                   .size = locals.block.p_memsz,
                                   .offset = locals.module,
                                   .map_kind = MAP_KIND_THREAD_LOCAL,
                                   .path = ""};
    sink_put(sink, &event);
}
