/* See recorded_machine.h. */
#include "predict/recorded_machine.h"

#include "analysis/traffic/traffic.h"
#include "base/mem.h"
#include "machine/model.h"
#include "topology/calibration.h"
#include "topology/topology.h"
#include "trace/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The model that the recording was made for; NULL when there is none, or none that can be read. */
static struct model *recorded_model(const struct trace_session *session)
{
    const char *text = trace_session_get(session, "machine_model"), *name = trace_session_get(session, "machine");
    struct error ignored = {0};
    FILE *in = text && *text && name ? fmemopen((void *)text, strlen(text), "r") : NULL;
    if (!in)
        return NULL;
    struct model *model = model_read(in, name, &ignored);
    fclose(in);
    return model;
}

static struct model *generic(uint32_t nodes)
{
    struct error ignored = {0};
    char *name = mem_format("generic-%u", nodes);
    struct model *model = nodes == 2 || nodes == 4 || nodes == 8 ? model_find(name, &ignored) : NULL;
    free(name);
    return model;
}

/* As it was calibrated; the last cache is taken to be a node's. */
static void take_caches(struct model *model, const struct calibration *calibration)
{
    model->cache_count = 0;
    for (uint32_t i = 0; i < calibration->cache_count && i < MODEL_CACHES; i++)
        model->caches[model->cache_count++] =
            (struct model_cache){.level = calibration->caches[i].level,
                                 .bytes = calibration->caches[i].size,
                                 .cores = calibration->caches[i].level > 2 ? model->cpus_per_node : 1};
}

/* The machine that it was recorded on: latencies and caches as they were measured there, bandwidths of the generic one. */
static struct model *measured(const struct trace_session *session, const struct topology *topology)
{
    struct error ignored = {0};
    const char *text = trace_session_get(session, "calibration");
    struct calibration *calibration = text ? calibration_from_text(text, &ignored) : NULL;
    uint32_t nodes = topology->node_count;
    struct model *model = calibration && calibration->node_count == nodes ? generic(nodes) : NULL;
    for (uint32_t i = 0; model && i < nodes * nodes; i++) {
        model->latency[i] = calibration->memory[i].chased;
        if (model->latency[i] <= 0) { /* a node was refused */
            model_free(model);
            model = NULL;
        }
    }
    if (!model) {
        calibration_free(calibration);
        return NULL;
    }
    free(model->title);
    model->title = mem_format("latency as measured and bandwidth of %s", model->name);
    free(model->name);
    model->name = mem_strdup(MACHINE_HERE);
    model->cpus_per_node = topology->cpu_count / nodes ? topology->cpu_count / nodes : 1;
    take_caches(model, calibration);
    calibration_free(calibration);
    return model;
}

struct model *recorded_machine(const struct trace_session *session, const struct topology *topology,
                               enum machine_from *from)
{
    enum machine_from ignored = MACHINE_RECORDED;
    from = from ? from : &ignored;
    struct model *model = session ? recorded_model(session) : NULL;
    *from = MACHINE_RECORDED;
    if (model && model->node_count != topology->node_count) {
        model_free(model);
        model = NULL;
    }
    if (model || topology->node_count < 2)
        return model;
    *from = topology->simulated ? MACHINE_GENERIC : MACHINE_MEASURED;
    return topology->simulated ? generic(topology->node_count) : session ? measured(session, topology) : NULL;
}

double machine_cache(const struct model *machine, const struct flow *flow, bool all_cpus)
{
    double own = 0, shared = 0;
    uint32_t cores = 0;
    for (uint32_t i = 0; i < machine->cache_count; i++) {
        const struct model_cache *cache = &machine->caches[i];
        if (cache->cores <= 1) {
            own = (double)cache->bytes > own ? (double)cache->bytes : own;
        } else if ((double)cache->bytes > shared) {
            shared = (double)cache->bytes;
            cores = cache->cores;
        }
    }
    if (all_cpus && cores)
        return own + shared / cores;
    return own + shared > 0 ? traffic_cache(flow, own, shared, cores) : 0;
}
