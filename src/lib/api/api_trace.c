/* lib/api/api_trace.c - opening and closing a trace, and what is true of it as a whole. */
#include "lib/api/api.h"

#include "base/progress.h"
#include "base/text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* numalens/flow.h repeats these numbers for its users; they must stay the same. */
_Static_assert((int)NLENS_HEAP == (int)OBJECT_HEAP && (int)NLENS_STACK == (int)OBJECT_STACK &&
                   (int)NLENS_STACK + 1 == (int)OBJECT_KINDS,
               "kinds of object");
_Static_assert((int)NLENS_LEVEL_RAM == (int)LEVEL_RAM && (int)NLENS_LEVEL_UNCACHED == (int)LEVEL_UNCACHED, "levels");

void api_error(nlens_error *to, const struct error *from)
{
    if (!to)
        return;
    char *safe = text_safe(from->text);
    if (strlen(safe) >= sizeof to->text) {
        free(safe);
        safe = text_safe_fit(from->text, sizeof to->text / 4 - 1); /* a character has at most four bytes */
    }
    *to = (nlens_error){.code = from->code};
    snprintf(to->text, sizeof to->text, "%s", safe);
    free(safe);
}

int api_options_take(void *options, size_t size, const void *given, const char *type, struct error *err)
{
    size_t given_size = size;
    memset(options, 0, size);
    memcpy(options, &size, sizeof size);
    if (!given)
        return 0;
    memcpy(&given_size, given, sizeof given_size);
    if (given_size < sizeof given_size)
        return error_set(err, -EINVAL, "%s.size is not set: %s options = {sizeof options}", type, type);
    for (size_t at = size; at < given_size; at++) {
        if (((const char *)given)[at])
            return error_set(err, -E2BIG, "%s ask for something that libnumalens %s does not know", type,
                             nlens_version());
    }
    memcpy(options, given, given_size < size ? given_size : size);
    return 0;
}

static int simulate(nlens_trace *trace, const nlens_options *options, struct error *err)
{
    if (!options->topology)
        return options->assign || options->homes
                   ? error_set(err, -EINVAL, "assign and homes are for a simulated topology: a topology is missing")
                   : 0;
    trace->topology = topology_simulate_text(options->topology, options->assign, options->homes, err);
    return trace->topology ? 0 : -EINVAL;
}

static int build(nlens_trace *trace, const char *path, const nlens_options *options, struct error *err)
{
    if (simulate(trace, options, err) < 0)
        return -1;
    trace->reader = trace_reader_open(path, err);
    if (!trace->reader)
        return -1;
    trace->symbols = symbols_new();
    if (options->debug_directory)
        symbols_add_debug_directory(trace->symbols, options->debug_directory);
    progress_listen(options->progress, options->progress_data);
    trace->flow = flow_build(trace->reader, trace->symbols,
                             &(struct flow_options){.topology = trace->topology, .symfs = options->symfs}, err);
    if (!trace->flow) {
        error_prefix(err, "%s", path);
        return -1;
    }
    trace->texts = strtab_new();
    struct flow_totals totals = flow_totals(trace->flow);
    api_totals(&trace->totals, &totals);
    api_rows_make(trace);
    return 0;
}

nlens_trace *nlens_open_with(const char *path, const nlens_options *given, nlens_error *err)
{
    if (err)
        *err = (nlens_error){0};
    struct error cause = {0};
    nlens_options options;
    nlens_trace *trace = mem_zalloc(sizeof *trace);
    if (api_options_take(&options, sizeof options, given, "nlens_options", &cause) < 0 ||
        build(trace, path, &options, &cause) < 0) {
        api_error(err, &cause);
        nlens_close(trace);
        trace = NULL;
    }
    progress_listen(NULL, NULL);
    return trace;
}

nlens_trace *nlens_open(const char *path, nlens_error *err)
{
    return nlens_open_with(path, NULL, err);
}

void nlens_close(nlens_trace *trace)
{
    if (!trace)
        return;
    while (trace->iters)
        nlens_iter_free(trace->iters);
    while (trace->groups)
        nlens_group_free(trace->groups);
    api_findings_free(trace);
    api_pages_free(trace);
    api_rows_free(trace);
    strtab_free(trace->texts);
    map64_free(&trace->safe_of);
    map64_free(&trace->raw_of);
    flow_free(trace->flow);
    symbols_free(trace->symbols);
    trace_reader_close(trace->reader);
    topology_free(trace->topology);
    free(trace);
}

const char *nlens_version(void)
{
    return NUMALENS_VERSION;
}

const nlens_totals *nlens_trace_totals(nlens_trace *trace)
{
    return &trace->totals;
}

uint64_t nlens_start(nlens_trace *trace)
{
    return flow_start(trace->flow);
}

uint64_t nlens_end(nlens_trace *trace)
{
    return flow_end(trace->flow);
}

const char *nlens_info(nlens_trace *trace, const char *key)
{
    const char *value = trace_session_get(trace_reader_session(trace->reader), key);
    if (!value && trace_reader_ending(trace->reader))
        value = trace_session_get(trace_reader_ending(trace->reader), key);
    return value ? api_text(trace, value) : NULL;
}

const char *nlens_damage(nlens_trace *trace)
{
    const char *damage = trace_reader_damage(trace->reader);
    return damage ? api_text(trace, damage) : NULL;
}

bool nlens_simulated(nlens_trace *trace)
{
    return flow_topology(trace->flow)->simulated;
}

unsigned nlens_distance(nlens_trace *trace, int from, int to)
{
    const struct topology *topology = flow_topology(trace->flow);
    if (from < 0 || to < 0 || (uint32_t)from >= topology->node_count || (uint32_t)to >= topology->node_count)
        return 0;
    return topology_distance(topology, (uint32_t)from, (uint32_t)to);
}

int nlens_node_of_cpu(nlens_trace *trace, uint32_t cpu)
{
    return topology_node_of_cpu(flow_topology(trace->flow), cpu);
}

const char *nlens_kind_name(int kind)
{
    return object_kind_name((unsigned)kind);
}

const char *nlens_level_name(int level)
{
    return sample_level_name((unsigned)level);
}
