#include "cli/machine_option.h"

#include "base/mem.h"
#include "machine/model.h"
#include "topology/calibration.h"
#include "topology/topology.h"
#include "trace/reader.h"
#include "trace/session.h"

#include <errno.h>
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

/* The machine that it was recorded on: latencies as they were measured there, bandwidths of the generic one. */
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
    calibration_free(calibration);
    if (!model)
        return NULL;
    free(model->title);
    model->title = mem_format("latency as measured and bandwidth of %s", model->name);
    free(model->name);
    model->name = mem_strdup("this machine");
    model->cpus_per_node = topology->cpu_count / nodes ? topology->cpu_count / nodes : 1;
    return model;
}

/* Without traffic a default would add nothing: distances have been counted. */
static struct model *by_default(const struct trace_session *session, const struct topology *topology)
{
    const char *traffic = trace_session_get(session, "traffic");
    if (!topology || topology->node_count < 2 || !traffic || strcmp(traffic, "pairs") != 0)
        return NULL;
    return topology->simulated ? generic(topology->node_count) : measured(session, topology);
}

static int simulate(struct machine_choice *choice, const struct machine_options *options,
                    const struct topology *recorded, struct error *err)
{
    const struct model *model = choice->model;
    const struct topology_options *asked = &options->topology;
    if ((asked->assign || asked->homes) && !asked->spec && !options->machine)
        return error_set(err, -EINVAL, "--assign and --homes are for a simulated topology: add --topology");
    if (asked->spec) {
        choice->topology = topology_simulate_text(asked->spec, asked->assign, asked->homes, err);
        if (!choice->topology)
            return -EINVAL;
        if (options->machine && choice->topology->node_count != model->node_count)
            return error_set(err, -EINVAL, "--topology has %u nodes and %s has %u: leave one of them out",
                             choice->topology->node_count, model->name, model->node_count);
        return 0;
    }
    bool as_it_is =
        recorded && recorded->node_count == (model ? model->node_count : 0) && !asked->assign && !asked->homes;
    if (!options->machine || as_it_is)
        return 0;
    choice->topology = model_topology_assigned(model, asked->assign, asked->homes, err);
    if (choice->topology && recorded && !asked->assign && !asked->homes)
        topology_place_like(choice->topology, recorded);
    return choice->topology ? 0 : -EINVAL;
}

int machine_choose(struct machine_choice *choice, const struct machine_options *options, const char *path,
                   struct error *err)
{
    struct error ignored = {0};
    struct trace_reader *reader = trace_reader_open(path, &ignored);
    const struct trace_session *session = reader ? trace_reader_session(reader) : NULL;
    const char *text = session ? trace_session_get(session, "topology") : NULL;
    struct topology *recorded = text ? topology_from_text(text, &ignored) : NULL;
    int failed = 0;
    *choice = (struct machine_choice){0};
    if (options->machine) {
        choice->model = model_find(options->machine, err);
        failed = choice->model ? 0 : -ENOENT;
    }
    failed = failed ? failed : simulate(choice, options, recorded, err);
    const struct topology *topology = choice->topology ? choice->topology : recorded;
    if (!failed && !choice->model && session && topology) {
        choice->model = recorded_model(session);
        choice->from = MACHINE_RECORDED;
        if (choice->model && choice->model->node_count != topology->node_count) {
            model_free(choice->model);
            choice->model = NULL;
        }
        if (!choice->model) {
            choice->model = by_default(session, topology);
            choice->from = topology->simulated ? MACHINE_GENERIC : MACHINE_MEASURED;
        }
    }
    topology_free(recorded);
    if (reader)
        trace_reader_close(reader);
    if (failed)
        machine_choice_free(choice);
    return failed;
}

void machine_choice_free(struct machine_choice *choice)
{
    model_free(choice->model);
    topology_free(choice->topology);
    *choice = (struct machine_choice){0};
}
