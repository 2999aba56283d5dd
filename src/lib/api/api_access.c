/* lib/api/api_access.c - accesses in order of time, and their call chains. */
#include "lib/api/api.h"

enum { MAX_FRAMES = 256 };

void api_access(nlens_trace *trace, const struct flow_access *from, nlens_access *to)
{
    const nlens_thread *thread = api_thread(trace, from->thread);
    *to = (nlens_access){.trace = trace,
                         .time = from->time,
                         .address = from->addr,
                         .physical = from->physical,
                         .thread = thread,
                         .object = api_object(trace, from->object),
                         .pid = thread->pid,
                         .tid = thread->tid,
                         .from = from->from,
                         .home = from->home,
                         .cpu = from->cpu == UINT16_MAX ? -1 : from->cpu,
                         .size = from->size,
                         .latency = from->latency,
                         .has_latency = from->has_latency,
                         .read = from->flags & SAMPLE_READ,
                         .write = from->write,
                         .remote = from->remote,
                         .burst = from->flags & SAMPLE_FIRST,
                         .level = from->level,
                         .source = sample_source_name(from->source),
                         .stack = from->stack};
}

static nlens_iter *iter_new(nlens_trace *trace, struct flow_iter *flow, nlens_group *group)
{
    nlens_iter *iter = mem_zalloc(sizeof *iter);
    *iter = (nlens_iter){.trace = trace, .flow = flow, .group = group, .next = trace->iters, .link = &trace->iters};
    if (iter->next)
        iter->next->link = &iter->next;
    trace->iters = iter;
    return iter;
}

nlens_iter *nlens_accesses(nlens_trace *trace)
{
    return iter_new(trace, flow_accesses(trace->flow), NULL);
}

nlens_iter *nlens_thread_accesses(const nlens_thread *thread)
{
    return iter_new(thread->trace, flow_thread_accesses(thread->trace->flow, thread->id), NULL);
}

nlens_iter *nlens_object_accesses(const nlens_object *object)
{
    return iter_new(object->trace, flow_object_accesses(object->trace->flow, object->id), NULL);
}

nlens_iter *nlens_group_accesses(nlens_group *group)
{
    return iter_new(group->trace, api_group_flow(group), group);
}

nlens_iter *nlens_group_object_accesses(nlens_group *group, const nlens_object *object)
{
    return iter_new(group->trace, flow_object_accesses(group->trace->flow, object->id), group);
}

nlens_iter *nlens_group_thread_accesses(nlens_group *group, const nlens_thread *thread)
{
    return iter_new(group->trace, flow_thread_accesses(group->trace->flow, thread->id), group);
}

const nlens_access *nlens_next(nlens_iter *iter)
{
    if (!iter)
        return NULL;
    struct flow_access access;
    while (!iter->over && flow_next(iter->flow, &access)) {
        if (iter->group && !api_group_admits(iter->group, &access))
            continue;
        api_access(iter->trace, &access, &iter->access);
        return &iter->access;
    }
    return NULL;
}

void nlens_iter_free(nlens_iter *iter)
{
    if (!iter)
        return;
    *iter->link = iter->next;
    if (iter->next)
        iter->next->link = iter->link;
    flow_iter_free(iter->flow);
    free(iter);
}

/* A chain is one block of frames that point at each other. */
static const nlens_frame *chain(nlens_trace *trace, uint32_t process, uint32_t stack)
{
    uint64_t *place = map64_insert(&trace->chains, (uint64_t)process << 32 | stack, NULL);
    if (*place)
        return trace->frames.items[*place - 1];
    struct symbol_frame names[MAX_FRAMES];
    size_t count = flow_stack_frames(trace->flow, process, stack, names, MAX_FRAMES);
    nlens_frame *frames = count ? mem_zalloc(count * sizeof *frames) : NULL;
    for (size_t i = 0; i < count; i++) {
        frames[i] = (nlens_frame){.caller = i + 1 < count ? &frames[i + 1] : NULL,
                                  .function = api_text(trace, names[i].function),
                                  .file = api_text(trace, names[i].file),
                                  .line = names[i].line,
                                  .inlined = names[i].inlined};
    }
    array_push(&trace->frames, frames);
    *place = trace->frames.count;
    return frames;
}

const nlens_frame *nlens_access_frames(const nlens_access *access)
{
    return chain(access->trace, access->thread->process->id, access->stack);
}

const nlens_frame *nlens_site_frames(const nlens_site *site)
{
    const struct flow_site *row = flow_site(site->trace->flow, site->id);
    return chain(site->trace, row->process, row->stack);
}

uint32_t api_function_of(nlens_trace *trace, const struct flow_access *access)
{
    return flow_stack_function(trace->flow, flow_thread(trace->flow, access->thread)->process, access->stack);
}

const nlens_function *nlens_access_function(const nlens_access *access)
{
    return api_function(access->trace,
                        flow_stack_function(access->trace->flow, access->thread->process->id, access->stack));
}
