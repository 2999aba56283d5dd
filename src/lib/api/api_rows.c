/* lib/api/api_rows.c - the public rows: copies of the flow's, with pointers in place of numbers and safe texts. */
#include "base/text.h"
#include "lib/api/api.h"

#include <stdio.h>

void api_totals(nlens_totals *to, const struct flow_totals *from)
{
    *to = (nlens_totals){.samples = from->samples,
                         .reads = from->reads,
                         .writes = from->writes,
                         .remote = from->remote,
                         .home_known = from->home_known,
                         .latency_sum = from->latency_sum,
                         .latency_count = from->latency_count};
}

static void make_nodes(nlens_trace *trace)
{
    const struct topology *topology = flow_topology(trace->flow);
    trace->nodes = mem_zalloc((topology->node_count + 1) * sizeof *trace->nodes);
    for (uint32_t i = 0; i < topology->node_count; i++) {
        trace->nodes[i] = (nlens_node){.trace = trace,
                                       .id = i,
                                       .os_index = topology->nodes[i].os_index,
                                       .memory = topology->nodes[i].memory,
                                       .cpu_count = topology->nodes[i].cpu_count};
    }
}

static void make_threads(nlens_trace *trace)
{
    size_t processes = flow_process_count(trace->flow), threads = flow_thread_count(trace->flow);
    trace->processes = mem_zalloc((processes + 1) * sizeof *trace->processes);
    trace->threads = mem_zalloc((threads + 1) * sizeof *trace->threads);
    for (uint32_t i = 0; i < threads; i++) {
        const struct flow_thread *from = flow_thread(trace->flow, i);
        nlens_thread *to = &trace->threads[i];
        *to = (nlens_thread){.trace = trace,
                             .id = i,
                             .pid = from->pid,
                             .tid = from->tid,
                             .ordinal = from->ordinal,
                             .process = &trace->processes[from->process],
                             .name = api_text(trace, from->name),
                             .start = from->start,
                             .end = from->end};
        api_totals(&to->totals, &from->totals);
    }
    for (uint32_t i = 0; i < processes; i++) {
        const struct flow_process *from = flow_process(trace->flow, i);
        nlens_process *to = &trace->processes[i];
        *to = (nlens_process){.trace = trace,
                              .id = i,
                              .pid = from->pid,
                              .exe = api_text(trace, from->exe),
                              .command = api_text(trace, from->command),
                              .start = from->start,
                              .end = from->end,
                              .exit_status = from->exit_status,
                              .parent = from->parent,
                              .replaced = from->replaced};
        api_totals(&to->totals, &from->totals);
    }
}

static void make_sites(nlens_trace *trace)
{
    size_t count = flow_site_count(trace->flow);
    trace->sites = mem_zalloc((count + 1) * sizeof *trace->sites);
    for (uint32_t i = 0; i < count; i++) {
        const struct flow_site *from = flow_site(trace->flow, i);
        nlens_site *to = &trace->sites[i];
        *to = (nlens_site){.trace = trace,
                           .id = i,
                           .kind = from->kind,
                           .label = api_text(trace, from->label),
                           .function = api_text(trace, from->function),
                           .file = api_text(trace, from->file),
                           .module = api_text(trace, from->module),
                           .line = from->line,
                           .via = api_text(trace, from->via),
                           .variable = api_text(trace, *from->variable ? from->name : ""),
                           .allocator = from->alloc_fn < ALLOC_FNS ? alloc_fn_name(from->alloc_fn) : "mmap",
                           .count = from->count,
                           .live_peak = from->live_peak,
                           .bytes = from->bytes,
                           .bytes_peak = from->peak_bytes,
                           .start = from->start,
                           .end = from->end};
        api_totals(&to->totals, &from->totals);
    }
}

static void make_losses(nlens_trace *trace)
{
    const uint64_t *losses = flow_losses(trace->flow);
    for (unsigned cause = 0; cause < LOSS_CAUSES; cause++) {
        uint32_t id = (uint32_t)trace->losses.count;
        if (losses[cause])
            array_push(&trace->losses, (nlens_loss){.trace = trace,
                                                    .id = id,
                                                    .name = loss_name(cause),
                                                    .text = loss_text(cause, losses[cause]),
                                                    .count = losses[cause]});
    }
    const char *const *names;
    const uint64_t *counts;
    size_t reasons = flow_unattributed(trace->flow, &names, &counts);
    for (size_t i = 0; i < reasons; i++) {
        uint32_t id = (uint32_t)trace->reasons.count;
        if (counts[i])
            array_push(&trace->reasons,
                       (nlens_reason){.trace = trace, .id = id, .name = api_text(trace, names[i]), .count = counts[i]});
    }
}

void api_rows_make(nlens_trace *trace)
{
    make_nodes(trace);
    make_threads(trace);
    make_sites(trace);
    make_losses(trace);
    trace->objects = mem_zalloc((flow_object_count(trace->flow) / OBJECT_CHUNK + 1) * sizeof *trace->objects);
}

void api_rows_free(nlens_trace *trace)
{
    for (size_t i = 0; trace->objects && i <= flow_object_count(trace->flow) / OBJECT_CHUNK; i++)
        free(trace->objects[i]);
    free(trace->objects);
    array_each (&trace->frames, nlens_frame *, chain)
        free(*chain);
    array_free(&trace->frames);
    map64_free(&trace->chains);
    array_free(&trace->losses);
    array_free(&trace->reasons);
    free(trace->nodes);
    free(trace->processes);
    free(trace->threads);
    free(trace->sites);
    free(trace->functions);
}

/* A static's name says nothing without its place; a site's label has it already. */
static const char *object_label(nlens_trace *trace, const struct flow_object *object)
{
    if (object->site != FLOW_NONE && object->kind != OBJECT_FILE)
        return api_text(trace, flow_site(trace->flow, object->site)->label);
    if (!*object->file || !object->line)
        return api_text(trace, object->name);
    char *text = mem_format("%s (%s:%u)", object->name, text_file_name(object->file), object->line);
    const char *label = api_text(trace, strtab_intern(trace->texts, text));
    free(text);
    return label;
}

static const char *object_variable(nlens_trace *trace, const struct flow_object *object)
{
    if (object->site != FLOW_NONE && object->kind != OBJECT_FILE)
        return trace->sites[object->site].variable;
    return object->kind == OBJECT_STATIC ? api_text(trace, object->name) : "";
}

static void fill_object(nlens_trace *trace, uint32_t index, nlens_object *to)
{
    const struct flow_object *from = flow_object(trace->flow, index);
    bool allocated = from->site != FLOW_NONE;
    *to = (nlens_object){.trace = trace,
                         .id = index,
                         .kind = from->kind,
                         .label = object_label(trace, from),
                         .name = api_text(trace, from->name),
                         .file = api_text(trace, from->file),
                         .module = api_text(trace, from->module),
                         .line = from->line,
                         .site = allocated ? &trace->sites[from->site] : NULL,
                         .process = &trace->processes[from->process],
                         .alloc_thread = allocated ? api_thread(trace, from->alloc_thread) : NULL,
                         .allocator = allocated ? api_text(trace, from->alloc_name) : "",
                         .alloc_cpu = from->kind == OBJECT_HEAP && from->alloc_cpu != UINT16_MAX ? from->alloc_cpu : -1,
                         .address = from->addr,
                         .size = from->size,
                         .start = from->start,
                         .end = from->end,
                         .offset = from->offset,
                         .variable = object_variable(trace, from)};
    api_totals(&to->totals, &from->totals);
}

const nlens_object *api_object(nlens_trace *trace, uint32_t index)
{
    size_t count = flow_object_count(trace->flow);
    if (index >= count)
        return NULL;
    nlens_object **chunk = &trace->objects[index / OBJECT_CHUNK];
    if (!*chunk) {
        uint32_t first = index / OBJECT_CHUNK * OBJECT_CHUNK;
        *chunk = mem_alloc(OBJECT_CHUNK * sizeof **chunk);
        for (uint32_t i = 0; i < OBJECT_CHUNK && first + i < count; i++)
            fill_object(trace, first + i, &(*chunk)[i]);
    }
    return &(*chunk)[index % OBJECT_CHUNK];
}

const nlens_thread *api_thread(nlens_trace *trace, uint32_t index)
{
    return index < flow_thread_count(trace->flow) ? &trace->threads[index] : NULL;
}

/* Names take long to find in large programs: not before somebody wants them. */
uint32_t api_function_count(nlens_trace *trace)
{
    uint32_t count = (uint32_t)flow_function_count(trace->flow);
    if (trace->functions_made)
        return count;
    trace->functions = mem_zalloc((count + 1) * sizeof *trace->functions);
    trace->functions_made = true;
    for (uint32_t i = 0; i < count; i++) {
        const struct flow_function *from = flow_function(trace->flow, i);
        trace->functions[i] = (nlens_function){.trace = trace,
                                               .id = i,
                                               .name = api_text(trace, from->function),
                                               .file = api_text(trace, from->file),
                                               .module = api_text(trace, from->module),
                                               .line = from->line};
        api_totals(&trace->functions[i].totals, &from->totals);
    }
    return count;
}

const nlens_function *api_function(nlens_trace *trace, uint32_t index)
{
    return index < api_function_count(trace) ? &trace->functions[index] : NULL;
}

const nlens_object *nlens_object_by_id(nlens_trace *trace, uint32_t id)
{
    return api_object(trace, id);
}

const nlens_thread *nlens_thread_by_id(nlens_trace *trace, uint32_t id)
{
    return api_thread(trace, id);
}

const nlens_site *nlens_site_by_id(nlens_trace *trace, uint32_t id)
{
    return id < flow_site_count(trace->flow) ? &trace->sites[id] : NULL;
}

const nlens_object *nlens_object_at(const nlens_process *process, uint64_t address, uint64_t time)
{
    const struct flow_object *object = flow_object_at(process->trace->flow, process->id, address, time);
    return object ? api_object(process->trace, object->id) : NULL;
}

uint32_t nlens_node_count(nlens_trace *trace)
{
    return flow_topology(trace->flow)->node_count;
}

/* The number after that of `last`, when there are that many. */
#define next_row(last, count, rows) ((last ? (last)->id + 1 : 0) < (count) ? &(rows)[last ? (last)->id + 1 : 0] : NULL)

const nlens_node *nlens_next_node(nlens_trace *trace, const nlens_node *last)
{
    return next_row(last, nlens_node_count(trace), trace->nodes);
}

const nlens_process *nlens_next_process(nlens_trace *trace, const nlens_process *last)
{
    return next_row(last, flow_process_count(trace->flow), trace->processes);
}

const nlens_thread *nlens_next_thread(nlens_trace *trace, const nlens_thread *last)
{
    return next_row(last, flow_thread_count(trace->flow), trace->threads);
}

const nlens_site *nlens_next_site(nlens_trace *trace, const nlens_site *last)
{
    return next_row(last, flow_site_count(trace->flow), trace->sites);
}

const nlens_object *nlens_next_object(nlens_trace *trace, const nlens_object *last)
{
    return api_object(trace, last ? last->id + 1 : 0);
}

const nlens_function *nlens_next_function(nlens_trace *trace, const nlens_function *last)
{
    return api_function(trace, last ? last->id + 1 : 0);
}

const nlens_loss *nlens_next_loss(nlens_trace *trace, const nlens_loss *last)
{
    return next_row(last, trace->losses.count, trace->losses.items);
}

const nlens_reason *nlens_next_reason(nlens_trace *trace, const nlens_reason *last)
{
    return next_row(last, trace->reasons.count, trace->reasons.items);
}
