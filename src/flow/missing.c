/* flow/missing.c - binaries whose names cannot be had: code of theirs is in a chain, and the file is not at hand. */
#include "base/order.h"
#include "base/text.h"
#include "flow/state.h"

#include <string.h>

ORDER_BY(by_samples, struct flow_missing, ORDER(b->samples, a->samples) ?: strcmp(a->path, b->path))

/* Of the agent's own frames nobody needs a name: they are between a thread's start and its function. */
static bool is_agent(const char *path)
{
    return strcmp(text_file_name(path), "libnumalens-agent.so") == 0;
}

static void make(struct flow *flow)
{
    uint64_t *samples = mem_zalloc((flow->modules.count + 1) * sizeof *samples);
    bool *used = mem_zalloc((flow->modules.count + 1) * sizeof *used);
    flow->missing_made = true;
    array_each (&flow->frames, const struct frame, frame)
        used[frame->module] = true;
    array_each (&flow->stacks, const struct stack, stack) {
        if (stack->tally == FLOW_NONE || stack->frame == FLOW_NONE)
            continue;
        const struct tally *tally = pool_at(&flow->tallies, stack->tally);
        samples[flow->frames.items[stack->frame].module] += tally->samples;
    }
    for (size_t i = 1; i < flow->modules.count; i++) {
        const struct module_info *module = &flow->modules.items[i];
        /* [vdso] and other names of the kernel's are no files. */
        const char *why = used[i] && module->symbols && *module->path == '/' && !is_agent(module->path)
                              ? symbols_module_missing(module->symbols)
                              : NULL;
        if (why)
            array_push(&flow->missing, (struct flow_missing){module->path, why, samples[i]});
    }
    array_sort(&flow->missing, by_samples);
    free(samples);
    free(used);
}

size_t flow_missing(const struct flow *flow, const struct flow_missing **rows)
{
    if (!flow->missing_made)
        make((struct flow *)flow); /* a cache */
    *rows = flow->missing.items;
    return flow->missing.count;
}
