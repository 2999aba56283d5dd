/* flow/query.c - plain answers: counts, rows, chains. */
#include "flow/state.h"

#include "base/mem.h"

#include <string.h>

const char *object_kind_name(unsigned kind)
{
    static const char *const names[OBJECT_KINDS] = {
        [OBJECT_HEAP] = "heap", [OBJECT_STATIC] = "static",   [OBJECT_MAP] = "map",
        [OBJECT_FILE] = "file", [OBJECT_SECTION] = "section", [OBJECT_STACK] = "stack",
    };
    return kind < OBJECT_KINDS ? names[kind] : "?";
}

char *flow_object_variable(const struct flow_object *object)
{
    return mem_format("%u:%s:%s:%u:%s", object->process, object->path, object->file, object->line, object->name);
}

void flow_totals_note(struct flow_totals *totals, const struct flow_access *access)
{
    totals->samples++;
    totals->reads += (access->flags & SAMPLE_READ) != 0;
    totals->writes += access->write;
    totals->remote += access->remote;
    totals->home_known += access->home >= 0 || access->remote;
    totals->latency_sum += access->has_latency ? access->latency : 0;
    totals->latency_count += access->has_latency;
}

const struct topology *flow_topology(const struct flow *flow)
{
    return flow->topology;
}

const struct calibration *flow_calibration(const struct flow *flow)
{
    return flow->calibration;
}

const struct trace_session *flow_session(const struct flow *flow)
{
    return flow->reader ? trace_reader_session(flow->reader) : NULL;
}

const struct trace_session *flow_ending(const struct flow *flow)
{
    return flow->reader ? trace_reader_ending(flow->reader) : NULL;
}

struct flow_totals flow_totals(const struct flow *flow)
{
    return flow->totals;
}

bool flow_has_homes(const struct flow *flow)
{
    struct flow_totals all = flow_totals(flow);
    return flow_totals_have_homes(&all);
}

uint64_t flow_attributed(const struct flow *flow)
{
    return flow->attributed;
}

uint64_t flow_start(const struct flow *flow)
{
    return flow->start;
}

uint64_t flow_end(const struct flow *flow)
{
    return flow->end;
}

bool flow_windowed(const struct flow *flow)
{
    return flow->reader && trace_reader_windowed(flow->reader);
}

const uint64_t *flow_losses(const struct flow *flow)
{
    return flow->losses;
}

size_t flow_gaps(const struct flow *flow, const struct flow_gap **rows)
{
    *rows = flow->gaps.items;
    return flow->gaps.count;
}

size_t flow_barrier_waits(const struct flow *flow, const struct flow_barrier_wait **rows)
{
    *rows = flow->barrier_waits.items;
    return flow->barrier_waits.count;
}

struct flow_kept *flow_kept(const struct flow *flow)
{
    return (struct flow_kept *)&flow->kept; /* a cache */
}

size_t flow_reuses(const struct flow *flow, const struct flow_reuse **rows)
{
    *rows = flow->reuses.items;
    return flow->reuses.count;
}

size_t flow_long_bursts(const struct flow *flow, const struct flow_long_burst **rows)
{
    *rows = flow->long_bursts.items;
    return flow->long_bursts.count;
}

size_t flow_unattributed(const struct flow *flow, const char *const **reasons, const uint64_t **counts)
{
    size_t count = 0;
    while (count < REASONS && flow->reason_names[count])
        count++;
    *reasons = flow->reason_names;
    *counts = flow->reason_counts;
    return count;
}

size_t flow_process_count(const struct flow *flow)
{
    return flow->processes.count;
}

size_t flow_group_count(const struct flow *flow)
{
    return flow->groups.count;
}

const struct flow_group *flow_group(const struct flow *flow, uint32_t index)
{
    return index < flow->groups.count ? &flow->groups.items[index] : NULL;
}

size_t flow_thread_count(const struct flow *flow)
{
    return flow->threads.count;
}

size_t flow_object_count(const struct flow *flow)
{
    return flow->objects.count;
}

size_t flow_sampled_object_count(const struct flow *flow)
{
    return flow->sampled_objects;
}

size_t flow_site_count(const struct flow *flow)
{
    return flow->sites.count;
}

const struct flow_process *flow_process(const struct flow *flow, uint32_t index)
{
    return index < flow->processes.count ? &flow->processes.items[index]->row : NULL;
}

const struct flow_thread *flow_thread(const struct flow *flow, uint32_t index)
{
    return index < flow->threads.count ? &flow->threads.items[index] : NULL;
}

int flow_thread_node(const struct flow *flow, uint32_t thread)
{
    return thread < flow->thread_nodes.count ? flow->thread_nodes.items[thread] : -1;
}

const struct flow_site *flow_site(const struct flow *flow, uint32_t index)
{
    return index < flow->sites.count ? &flow->sites.items[index] : NULL;
}

struct symbols_module *flow_module_symbols(const struct flow *flow, const char *path)
{
    array_each (&flow->modules, const struct module_info, module)
        if (module->symbols && strcmp(module->path, path) == 0)
            return module->symbols;
    return NULL;
}

size_t flow_stack_places(const struct flow *const_flow, uint32_t process, uint32_t stack, struct flow_frame *frames,
                         size_t max)
{
    struct flow *flow = (struct flow *)const_flow; /* names are a cache */
    uint32_t index = process < flow->processes.count ? live_stack_of(flow->processes.items[process], stack) : FLOW_NONE;
    if (index == FLOW_NONE)
        return 0;
    const struct stack *chain = &flow->stacks.items[index];
    size_t count = 0;
    for (uint16_t i = 0; i < chain->depth && count < max; i++) {
        uint64_t pc = flow->chain.items[chain->first + i] - (i > 0 || chain->allocates);
        uint32_t number = live_frame_number(flow, flow->processes.items[process], pc, chain->since);
        live_frame_names(flow, number);
        const struct frame *frame = &flow->frames.items[number];
        for (uint32_t name = 0; name < frame->name_count && count < max; name++)
            frames[count++] = (struct flow_frame){.symbol = flow->names.items[frame->first_name + name],
                                                  .module = flow->modules.items[frame->module].name,
                                                  .path = flow->modules.items[frame->module].path,
                                                  .addr = frame->addr,
                                                  .symbols = flow->modules.items[frame->module].symbols,
                                                  .level = name};
    }
    return count;
}

struct flow_frame flow_thread_start(const struct flow *const_flow, uint32_t index)
{
    struct flow *flow = (struct flow *)const_flow; /* names are a cache */
    const struct flow_thread *thread = flow_thread(flow, index);
    struct flow_frame start = {.symbol = {.function = "", .file = ""}, .module = "", .path = ""};
    if (!thread || !thread->entry)
        return start;
    uint32_t number = live_frame_number(flow, flow->processes.items[thread->process], thread->entry, thread->start);
    live_frame_names(flow, number);
    const struct frame *frame = &flow->frames.items[number];
    if (frame->name_count)
        start.symbol = flow->names.items[frame->first_name];
    start.module = flow->modules.items[frame->module].name;
    start.path = flow->modules.items[frame->module].path;
    start.addr = frame->addr;
    return start;
}

bool flow_process_has(const struct flow *flow, uint32_t process, const char *library)
{
    const struct module_list *list = process < flow->processes.count ? flow->processes.items[process]->modules : NULL;
    for (uint32_t i = 0; list && i < list->count; i++)
        if (strncmp(flow->modules.items[list->places[i].module].name, library, strlen(library)) == 0)
            return true;
    return false;
}

size_t flow_stack_frames(const struct flow *flow, uint32_t process, uint32_t stack, struct symbol_frame *frames,
                         size_t max)
{
    struct flow_frame *places = mem_alloc((max + 1) * sizeof *places);
    size_t count = flow_stack_places(flow, process, stack, places, max);
    for (size_t i = 0; i < count; i++)
        frames[i] = places[i].symbol;
    free(places);
    return count;
}
