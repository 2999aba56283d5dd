#include "agent/process/locals.h"

#include "agent/region/hook_record.h"

#include <link.h>
#include <stddef.h>

enum { BLOCKS = 16 }; /* modules with thread-local variables; there are rarely more than five */

/* Written once by locals_setup, before there are other threads. */
static struct {
    int64_t distance; /* from the thread pointer */
    uint64_t size, module;
} blocks[BLOCKS];
static unsigned block_count;

static int see_module(struct dl_phdr_info *info, size_t size, void *data)
{
    uint64_t start = UINT64_MAX, end = 0, bytes = 0;
    (void)data;
    if (size < offsetof(struct dl_phdr_info, dlpi_tls_data) + sizeof info->dlpi_tls_data || !info->dlpi_tls_data)
        return 0;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        uint64_t at = info->dlpi_addr + segment->p_vaddr;
        if (segment->p_type == PT_TLS)
            bytes = segment->p_memsz;
        if (segment->p_type != PT_LOAD)
            continue;
        start = at < start ? at : start;
        end = at + segment->p_memsz > end ? at + segment->p_memsz : end;
    }
    bool own = agent_text_start >= start && agent_text_start < end;
    if (bytes == 0 || own || block_count == BLOCKS)
        return 0;
    blocks[block_count].distance = (int64_t)((uint64_t)info->dlpi_tls_data - (uint64_t)__builtin_thread_pointer());
    blocks[block_count].size = bytes;
    blocks[block_count++].module = start;
    return 0;
}

void locals_setup(void)
{
    dl_iterate_phdr(see_module, NULL);
}

void locals_report(struct agent_thread *self)
{
    for (unsigned i = 0; i < block_count; i++) {
        struct record_map block = {.addr = (uint64_t)__builtin_thread_pointer() + (uint64_t)blocks[i].distance,
                                   .size = blocks[i].size,
                                   .offset = blocks[i].module,
                                   .kind = MAP_KIND_THREAD_LOCAL,
                                   .path = ""};
        record_map(self, &block, 0);
    }
}
