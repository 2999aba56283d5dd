#include "cli/machine_option.h"

#include "machine/model.h"
#include "topology/topology.h"
#include "trace/reader.h"
#include "trace/session.h"

#include <errno.h>

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
    if (!failed && !choice->model && session && topology)
        choice->model = recorded_machine(session, topology, &choice->from);
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
