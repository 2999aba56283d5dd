/* flow/build.c - a flow from a trace, and its end. */
#include "flow/state.h"

#include "base/progress.h"
#include "topology/calibration.h"

#include <errno.h>
#include <string.h>

enum { PROGRESS_EVENTS = 1 << 14 }; /* so many between two reports of how far it is */

/* The machine the trace was recorded on (or simulated there). Of a trace that does not say, all that is known is that there was
 * one node. hwloc is not asked for that: it loads its plug-ins, for each trace of a job. */
static struct topology *recorded_topology(const struct trace_session *session, struct error *err)
{
    static const struct topology_description one_node = {.cpus = "0"};
    const char *text = trace_session_get(session, "topology");
    return text ? topology_from_text(text, err) : topology_described(&one_node, 1, err);
}

/* The names of the functions that the user named, with blanks between. */
static void name_custom(struct flow *flow, const char *names)
{
    char *copy = names ? mem_strdup(names) : NULL, *rest = copy, *name;
    while (copy && (name = strsep(&rest, " ")))
        array_push(&flow->custom, strtab_intern(flow->texts, name));
    free(copy);
}

/* A calibration that is damaged is as good as none: levels stay unknown. */
static void load_calibration(struct flow *flow, const struct trace_session *session)
{
    static const uint8_t levels[] = {LEVEL_UNKNOWN, LEVEL_L1, LEVEL_L2, LEVEL_L3, LEVEL_RAM};
    const char *text = session ? trace_session_get(session, "calibration") : NULL;
    struct error ignored = {0};
    flow->calibration = text ? calibration_from_text(text, &ignored) : NULL;
    for (uint32_t ns = 0; flow->calibration && ns < FLOW_LEVELS; ns++)
        flow->levels[ns] = levels[calibration_level(flow->calibration, ns)];
}

static void not_before(uint64_t *first, uint64_t *last, uint64_t start)
{
    if (*first < start)
        *first = start;
    if (*last < start)
        *last = start;
}

/* Only a part of the run is in sight: the flow begins and ends with it, and what was there before is there from its start. */
static void flow_begin_at(struct flow *flow, const struct trace_reader *reader)
{
    uint64_t start, end;
    trace_reader_span(reader, &start, &end);
    flow->partial = true;
    flow->start = start;
    if (end < flow->end)
        flow->end = end;
    if (flow->end < start)
        flow->end = start;
    array_each (&flow->processes, struct process *, process)
        not_before(&(*process)->row.start, &(*process)->row.end, start);
    array_each (&flow->threads, struct flow_thread, thread)
        not_before(&thread->start, &thread->end, start);
    array_each (&flow->groups, struct flow_group, group)
        not_before(&group->start, &(uint64_t){UINT64_MAX}, start);
    array_each (&flow->sites, struct flow_site, site)
        not_before(&site->start, &site->end, start);
}

struct flow *flow_build(struct trace_reader *reader, struct symbols *symbols, const struct flow_options *options,
                        struct error *err)
{
    struct topology *own = NULL;
    if (!options || !options->topology) {
        own = recorded_topology(trace_reader_session(reader), err);
        if (!own) {
            error_prefix(err, "the trace's topology");
            return NULL;
        }
    }
    if (options && options->symfs)
        symbols_set_root(symbols, options->symfs);
    struct flow *flow = flow_new(symbols, own ? own : options->topology);
    flow->own_topology = own;
    flow->reader = reader;
    flow->only_pid = options ? options->pid : 0;
    flow->only_tid = options ? options->tid : 0;
    uint64_t samples = trace_reader_count(reader, EVENT_SAMPLE);
    uint64_t pages = trace_reader_count(reader, EVENT_PAGE);
    flow->page_base = samples;
    flow->pages_count = samples == 0;
    if (samples >= FLOW_NONE || (flow->pages_count && pages >= FLOW_NONE / 2)) {
        error_set(err, -E2BIG, "the trace holds %lu samples and %lu pages, more than a report can take",
                  (unsigned long)samples, (unsigned long)pages);
        flow_free(flow);
        return NULL;
    }
    /* The index of a damaged file may promise too much: trust it up to a bound, and grow after that. */
    uint64_t trusted = samples < 1u << 26 ? samples : 1u << 26;
    flow->marks.items = mem_alloc((trusted + 1) * sizeof *flow->marks.items);
    flow->marks.capacity = trusted + 1;
    flow->order.items = mem_alloc((trusted + 1) * sizeof *flow->order.items);
    flow->order.capacity = trusted + 1;

    load_calibration(flow, trace_reader_session(reader));
    const char *source = trace_session_get(trace_reader_session(reader), "source");
    flow->unchained = source && strcmp(source, "outside") == 0;
    name_custom(flow, trace_session_get(trace_reader_session(reader), "custom_functions"));
    trace_reader_only(reader, UINT64_MAX);
    uint64_t events = 0;
    for (unsigned kind = 0; kind < EVENT_KINDS; kind++)
        events += trace_reader_count(reader, (enum event_kind)kind);
    progress_begin("reading", events);
    int got;
    struct ahead *ahead = ahead_new(flow);
    for (events = 0; (got = trace_reader_next(reader, ahead_slot(ahead), err)) > 0; events++) {
        ahead_feed(ahead);
        if (events % PROGRESS_EVENTS == 0)
            progress_set(events);
    }
    ahead_free(ahead);
    if (got < 0) {
        flow_free(flow);
        return NULL;
    }
    flow_finish(flow);
    if (trace_reader_partial(reader))
        flow_begin_at(flow, reader);
    return flow;
}

void flow_free(struct flow *flow)
{
    if (!flow)
        return;
    if (flow->kept.free)
        flow->kept.free(flow->kept.item);
    live_objects_free(flow);
    array_each (&flow->processes, struct process *, process)
        live_process_free(*process);
    array_free(&flow->processes);
    map64_free(&flow->process_of_pid);
    array_free(&flow->former_processes);
    array_free(&flow->threads);
    array_free(&flow->thread_nodes);
    array_free(&flow->thread_votes);
    array_free(&flow->former_lives);
    array_free(&flow->thread_sibling);
    map64_free(&flow->thread_of_tid);
    array_free(&flow->barrier_waits);
    array_free(&flow->reuses);
    array_free(&flow->long_bursts);
    array_free(&flow->gaps);
    pool_free(&flow->records);
    pool_free(&flow->tallies);
    array_free(&flow->named);
    map64_free(&flow->named_of);
    array_free(&flow->touched);
    map64_free(&flow->moved);
    map64_free(&flow->mapped_bytes);
    map64_free(&flow->arena_note);
    array_free(&flow->arena_sites);
    pool_free(&flow->ranges);
    pool_free(&flow->stack_ranges);
    pool_free(&flow->local_blocks);
    array_free(&flow->marks);
    array_free(&flow->order);
    array_free(&flow->waiting_pages);
    array_free(&flow->pages_ended);
    map64_free(&flow->page_ended_of);
    array_free(&flow->page_order);
    pool_free(&flow->waiting);
    array_free(&flow->custom);
    array_free(&flow->modules);
    strtab_free(flow->module_keys);
    strtab_free(flow->frame_keys);
    strtab_free(flow->trail_keys);
    array_free(&flow->frames);
    array_free(&flow->trails);
    array_free(&flow->stacks);
    array_free(&flow->chain);
    array_free(&flow->eras);
    map64_free(&flow->era_of);
    array_free(&flow->names);
    array_free(&flow->groups);
    array_free(&flow->sites);
    code_rows_free(&flow->functions);
    code_rows_free(&flow->lines);
    array_free(&flow->missing);
    free(flow->oef);
    free(flow->oef_first);
    free(flow->tef);
    free(flow->tef_first);
    topology_free(flow->own_topology);
    calibration_free(flow->calibration);
    strtab_free(flow->texts);
    slab_free(&flow->slab);
    free(flow);
}
