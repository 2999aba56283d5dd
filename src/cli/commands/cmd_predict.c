/* cli/commands/cmd_predict.c - numalens predict: run time on other machines and under other placements (docs/predict.md). */
#include "cli/command.h"
#include "cli/commands/predict/predict_object.h"
#include "cli/commands/predict/predict_verdict.h"
#include "cli/machine_option.h"
#include "cli/progress_line.h"
#include "cli/input/recording.h"
#include "cli/symfs.h"
#include "cli/terminal.h"

#include "analysis/thresholds.h"
#include "analysis/traffic/traffic.h"
#include "base/json.h"
#include "base/progress.h"
#include "cli/usage/option_value.h"
#include "machine/model.h"
#include "predict/predict.h"
#include "topology/topology.h"
#include "base/number.h"
#include "view/paragraph.h"
#include "view/table.h"

#include <argp.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

struct asked {
    char *name; /* as it was asked for: "replicate:grid" */
    enum placing placement;
    const char *object; /* in `name`: only this one; NULL: all */
};

struct row {
    uint32_t machine; /* of `machines` */
    const struct asked *asked;
    struct prediction prediction;
};

struct machine_rows {
    struct model *model;
    enum machine_from from;
    bool simulated;
    struct predict_verdict verdict;
    double unknown_homes; /* of its bytes, the share whose home nodes are not known */
    uint32_t first;       /* of `rows`; as many as placements, in their order */
    uint32_t best, other; /* rows; other: as-is, else the slowest */
    struct factor factor; /* of other to best */
};

struct predict_arguments {
    struct input input;
    const char *machines, *placements, *symfs;
    bool as_json;
    array_of(struct asked) asked;
};

struct answer {
    array_of(struct machine_rows) machines;
    array_of(struct row) rows;
};

static int parse_placements(struct predict_arguments *arguments, struct error *err)
{
    char *text = mem_strdup(arguments->placements ? arguments->placements : ""), *rest = text, *name;
    int failed = 0;
    while (!failed && arguments->placements && (name = strsep(&rest, ","))) {
        static const char of_one[] = "replicate:";
        bool one = strncmp(name, of_one, sizeof of_one - 1) == 0 && name[sizeof of_one - 1];
        int placement = one ? PLACING_REPLICATE : placing_find(name);
        char *kept = mem_strdup(name);
        array_push(&arguments->asked,
                   (struct asked){.name = kept,
                                  .placement = placement < 0 ? PLACING_AS_IS : (enum placing)placement,
                                  .object = one ? kept + sizeof of_one - 1 : NULL});
        if (placement < 0)
            failed = error_set(err, -EINVAL,
                               "there is no placement '%.60s'; there are as-is, interleave, first-touch-by-users, "
                               "replicate, replicate:OBJECT and cluster",
                               name);
    }
    for (int i = 0; i < PLACINGS && !arguments->placements; i++)
        array_push(&arguments->asked,
                   (struct asked){.name = mem_strdup(placing_name((enum placing)i)), .placement = i});
    free(text);
    return failed;
}

/* Without --machine: the one that the recording carries, or was made on. */
static int choose_machine(const struct predict_arguments *arguments, const struct flow *flow, struct answer *answer,
                          struct error *err)
{
    struct machine_choice choice;
    int failed = machine_choose(&choice, &(struct machine_options){0}, arguments->input.path, err);
    if (failed)
        return failed;
    if (choice.model) {
        array_push(&answer->machines, (struct machine_rows){.model = choice.model, .from = choice.from});
        return 0;
    }
    struct traffic *traffic = traffic_make(flow, 0);
    struct demand *demand = demand_make(flow, traffic, err); /* a recording that no machine helps is refused for that */
    uint32_t nodes = flow_topology(flow)->node_count;
    if (demand)
        failed =
            error_set(err, -ENOENT,
                      "%s carries no model of a machine, and %s; name one with --machine ('numalens machines' lists "
                      "them)",
                      arguments->input.name,
                      nodes == 1 ? "with one memory node there is nothing to place"
                                 : "there is no generic one with as many nodes");
    demand_free(demand);
    traffic_free(traffic);
    return -1;
}

static int find_machines(const struct predict_arguments *arguments, struct answer *answer, struct error *err)
{
    if (!arguments->machines)
        return 0;
    char *text = mem_strdup(arguments->machines), *rest = text, *name;
    int failed = 0;
    while (!failed && (name = strsep(&rest, ","))) {
        struct model *model = model_find(name, err);
        if (model)
            array_push(&answer->machines, (struct machine_rows){.model = model});
        else
            failed = err->code < 0 ? err->code : -1;
    }
    free(text);
    return failed;
}

/* Fills the plan of what was asked for: objects are named as reports name them, or by their id. */
static int make_plan(const struct asked *asked, const struct traffic *traffic, const struct demand *demand,
                     struct plan *plan, struct error *err)
{
    struct predict_names names = {0};
    *plan = (struct plan){.placement = asked->placement};
    if (!asked->object)
        return 0;
    uint32_t object = predict_find_object(traffic, asked->object, &names);
    plan->one_object = true;
    plan->object = object < demand->flow_objects ? demand->number_of[object] : DEMAND_NONE;
    if (plan->object != DEMAND_NONE)
        return 0;
    return error_set(err, -ENOENT, "no object '%.60s' has memory traffic; there are %s", asked->object,
                     *names.list ? names.list : "none");
}

static int predict_flow(const struct predict_arguments *arguments, const struct flow *flow, struct answer *answer,
                        struct machine_rows *machine, struct error *err)
{
    struct traffic *traffic = traffic_make(flow, machine_cache(machine->model, flow, false));
    struct demand *demand = demand_make(flow, traffic, err);
    machine->first = (uint32_t)answer->rows.count;
    machine->unknown_homes = demand ? demand_unknown_homes(demand) : 0;
    int failed = demand ? 0 : -1;
    array_each (&arguments->asked, const struct asked, asked) {
        struct plan plan;
        failed = failed ? failed : make_plan(asked, traffic, demand, &plan, err);
        if (!failed)
            array_push(&answer->rows, (struct row){.machine = (uint32_t)(machine - answer->machines.items),
                                                   .asked = asked,
                                                   .prediction = predict_plan(machine->model, demand, &plan)});
    }
    failed = failed ? failed : predict_verdict_make(&machine->verdict, flow, machine->model, err);
    demand_free(demand);
    traffic_free(traffic);
    return failed;
}

/* A recording with as many nodes as the machine is taken as it is; else the machine's nodes are simulated. */
static int predict_machine(const struct predict_arguments *arguments, struct recording *recording,
                           struct answer *answer, struct machine_rows *machine, struct error *err)
{
    if (flow_topology(recording->flow)->node_count == machine->model->node_count)
        return predict_flow(arguments, recording->flow, answer, machine, err);
    struct topology *topology = model_topology(machine->model, err);
    if (!topology)
        return -1;
    topology_place_like(topology, flow_topology(recording->flow));
    struct flow *flow =
        flow_build(recording->reader, recording->symbols, &(struct flow_options){.topology = topology}, err);
    int failed = flow ? predict_flow(arguments, flow, answer, machine, err) : -1;
    machine->simulated = true;
    flow_free(flow);
    topology_free(topology);
    return failed;
}

static void judge_machine(const struct predict_arguments *arguments, const struct answer *answer,
                          struct machine_rows *machine)
{
    const struct row *rows = answer->rows.items;
    uint32_t best = machine->first, slowest = best, as_is = UINT32_MAX;
    for (uint32_t i = best; i < machine->first + arguments->asked.count; i++) {
        double time_s = rows[i].prediction.time_s[ASSUME_LIKELY];
        best = time_s < rows[best].prediction.time_s[ASSUME_LIKELY] ? i : best;
        slowest = time_s > rows[slowest].prediction.time_s[ASSUME_LIKELY] ? i : slowest;
        as_is = rows[i].asked->placement == PLACING_AS_IS ? i : as_is;
    }
    machine->best = best;
    machine->other = as_is == UINT32_MAX ? slowest : as_is;
    machine->factor = prediction_factor(&rows[machine->other].prediction, &rows[best].prediction);
}

/* The placement that there is cannot be bettered: how much worse the others are. */
static void print_others(const struct answer *answer, const struct machine_rows *machine, size_t placements,
                         unsigned width)
{
    const struct row *rows = answer->rows.items, *best = &rows[machine->best];
    char *text = mem_strdup("");
    for (uint32_t i = machine->first; i < machine->first + placements; i++) {
        struct factor factor = prediction_factor(&rows[i].prediction, &best->prediction);
        if (i == machine->best)
            continue;
        char *longer = *text ? mem_format("%s, %s %.1f", text, rows[i].asked->name, factor.likely)
                             : mem_format("; %s takes %.1f times as long", rows[i].asked->name, factor.likely);
        free(text);
        text = longer;
    }
    paragraph(stdout, 0, width, "", "%s: %s is best, %s%s.", machine->model->name, best->asked->name,
              number_seconds(best->prediction.time_s[ASSUME_LIKELY]), text);
    free(text);
}

static void print_machine(const struct answer *answer, const struct machine_rows *machine, size_t placements,
                          unsigned width)
{
    const struct row *best = &answer->rows.items[machine->best], *other = &answer->rows.items[machine->other];
    const struct factor *factor = &machine->factor;
    if (machine->best == machine->other)
        print_others(answer, machine, placements, width);
    else if (factor->likely < 1 + thresholds.worth_saying)
        paragraph(stdout, 0, width, "",
                  "%s: no placement is more than %.0f%% faster than %s, %s (the best at most %.1f%%).",
                  machine->model->name, 100 * thresholds.worth_saying, other->asked->name,
                  number_seconds(other->prediction.time_s[ASSUME_LIKELY]), 100 * (factor->high - 1));
    else
        paragraph(stdout, 0, width, "", "%s: best is %s, %s; %s takes %.1f times as long (%.1f to %.1f).",
                  machine->model->name, best->asked->name, number_seconds(best->prediction.time_s[ASSUME_LIKELY]),
                  other->asked->name, factor->likely, factor->low, factor->high);
}

/* Which machine it is, where none was named. */
static void print_choice(const struct machine_rows *machine, unsigned width)
{
    const char *name = machine->model->name;
    if (machine->from == MACHINE_RECORDED)
        paragraph(stdout, 0, width, "", "%s is the machine that the recording was made for (record --machine).", name);
    else if (machine->from == MACHINE_GENERIC)
        paragraph(stdout, 0, width, "",
                  "%s has as many nodes as the simulated topology of the recording; --machine names another.", name);
    else if (machine->from == MACHINE_MEASURED)
        paragraph(stdout, 0, width, "", "%s is the one that it was recorded on: %s; --machine names another.", name,
                  machine->model->title);
}

static void print(const struct answer *answer, size_t placements)
{
    struct view_options look = {0};
    struct table *table = table_new();
    char limit[LIMIT_TEXT];
    terminal_look(&(struct terminal_options){.view = &look});
    array_each (&answer->machines, const struct machine_rows, machine) {
        paragraph(stdout, 0, look.width, "", "%s", machine->verdict.text);
        print_choice(machine, look.width);
        print_machine(answer, machine, placements, look.width);
        if (machine->unknown_homes > thresholds.worth_saying)
            paragraph(stdout, 0, look.width, "",
                      "%s: the home node of %.0f%% of the bytes is not known; they count alike under every placement.",
                      machine->model->name, 100 * machine->unknown_homes);
    }
    putchar('\n');
    table_columns(table, TABLE_LEFT, "machine", "placement");
    table_columns(table, TABLE_RIGHT, "time", "interval", "remote");
    table_column(table, "bottleneck", TABLE_FLEX);
    array_each (&answer->rows, const struct row, row) {
        const struct prediction *prediction = &row->prediction;
        table_cell(table, "%s", answer->machines.items[row->machine].model->name);
        table_cell(table, "%s", row->asked->name);
        table_cell(table, "%.2f s", prediction->time_s[ASSUME_LIKELY]);
        table_cell(table, "%.2f to %.2f s", prediction->low, prediction->high);
        if (prediction->remote_share < 0)
            table_cell(table, "-");
        else
            table_cell(table, "%.0f%%", 100 * prediction->remote_share);
        table_cell(table, "%s", limit_text(&prediction->limit, limit));
    }
    table_print(table, stdout, 2, look.width, look.color);
    putchar('\n');
    paragraph(stdout, 0, look.width, "",
              "Experimental: user time of the program's threads, by a model. docs/predict.md has what it assumes, and "
              "how far it "
              "is off.");
}

static void write_row(struct json *json, const struct answer *answer, const struct row *row)
{
    const struct prediction *prediction = &row->prediction;
    char limit[LIMIT_TEXT];
    json_text(json, "machine", answer->machines.items[row->machine].model->name);
    json_text(json, "placement", row->asked->name);
    json_real(json, "time_s", prediction->time_s[ASSUME_LIKELY], 6);
    json_real(json, "low", prediction->low, 6);
    json_real(json, "high", prediction->high, 6);
    json_real(json, "remote_share", prediction->remote_share < 0 ? NAN : prediction->remote_share, 4);
    json_text(json, "bottleneck", limit_text(&prediction->limit, limit));
}

static int write_json(const struct answer *answer, struct error *err)
{
    static const char *const from[] = {[MACHINE_NAMED] = "named",
                                       [MACHINE_RECORDED] = "recording",
                                       [MACHINE_GENERIC] = "generic",
                                       [MACHINE_MEASURED] = "measured"};
    struct json *json = json_new(stdout);
    uint32_t best = 0;
    json_object(json, NULL);
    json_number(json, "version", JSON_VERSION);
    json_bool(json, "experimental", true); /* run times; verdicts are not */
    json_array(json, "rows");
    for (uint32_t i = 0; i < answer->rows.count; i++) {
        const struct row *rows = answer->rows.items;
        json_object(json, NULL);
        write_row(json, answer, &rows[i]);
        json_end(json);
        if (rows[i].prediction.time_s[ASSUME_LIKELY] < rows[best].prediction.time_s[ASSUME_LIKELY])
            best = i;
    }
    json_end(json);
    json_object(json, "best");
    write_row(json, answer, &answer->rows.items[best]);
    json_end(json);
    json_array(json, "machines");
    array_each (&answer->machines, const struct machine_rows, machine) {
        json_object(json, NULL);
        json_text(json, "machine", machine->model->name);
        json_text(json, "title", machine->model->title);
        json_text(json, "from", from[machine->from]);
        json_bool(json, "simulated", machine->simulated);
        predict_verdict_put(&machine->verdict, json);
        json_real(json, "unknown_home_share", machine->unknown_homes, 4);
        json_text(json, "best", answer->rows.items[machine->best].asked->name);
        json_text(json, "against", answer->rows.items[machine->other].asked->name);
        json_real(json, "factor", machine->factor.likely, 3);
        json_real(json, "low", machine->factor.low, 3);
        json_real(json, "high", machine->factor.high, 3);
        json_end(json);
    }
    return json_finish(json, err);
}

static const struct argp_option option_table[] = {
    {"machine", 'm', "NAMES", 0,
     "models of machines, with commas between them ('numalens machines' lists them); without it the one that the "
     "recording was made for or on",
     0},
    {"placements", 'p', "NAMES", 0,
     "of as-is, interleave, first-touch-by-users, replicate, replicate:OBJECT, cluster, with commas between them "
     "(all)",
     0},
    {"json", 'j', 0, 0, "for programs to read", 0},
    {0},
};

static const struct option_value values[] = {
    OPTION_FLAG('j', struct predict_arguments, as_json),
    OPTION_TEXT('m', struct predict_arguments, machines),
    OPTION_TEXT('p', struct predict_arguments, placements),
    {0},
};

static error_t parse(int key, char *text, struct argp_state *state)
{
    struct predict_arguments *arguments = state->input;
    if (key != ARGP_KEY_INIT)
        return option_value_take(values, option_table, key, text, state);
    state->child_inputs[0] = &arguments->symfs;
    state->child_inputs[1] = &arguments->input;
    return 0;
}

static int answer_all(struct predict_arguments *arguments, struct answer *answer, struct error *err)
{
    struct recording recording;
    int failed = find_machines(arguments, answer, err);
    if (failed)
        return failed;
    failed = input_find(&arguments->input, err);
    if (failed == 0)
        failed = recording_open(&recording, "predict", &arguments->input,
                                &(struct flow_options){.symfs = arguments->symfs}, NULL, err);
    if (failed)
        return failed;
    if (!arguments->machines)
        failed = choose_machine(arguments, recording.flow, answer, err);
    progress_begin("predicting", 0);
    array_each (&answer->machines, struct machine_rows, machine) {
        failed = failed ? failed : predict_machine(arguments, &recording, answer, machine, err);
        if (!failed)
            judge_machine(arguments, answer, machine);
    }
    recording_close(&recording);
    if (failed)
        return failed;
    if (arguments->as_json)
        return write_json(answer, err);
    print(answer, arguments->asked.count);
    return fflush(stdout) == 0 ? 0 : error_set(err, -EIO, "cannot write the answer");
}

int cmd_predict(int argc, char **argv)
{
    static const struct argp_child children[] = {{&symfs_argp, 0, NULL, 0}, {&input_argp, 0, NULL, 0}, {0}};
    static const struct argp argp = {
        .options = option_table,
        .parser = parse,
        .children = children,
        .args_doc = "[FILE...]",
        .doc = "Predicts a program's run time on machines that are models, under several placements of its "
               "memory.\v" INPUT_HELP " Each time has an "
               "interval: "
               "from sampling, and from what is not known.\n"
               "\nEXAMPLES\n  numalens record -- ./app\n  numalens predict --machine xeon-8360y,generic-4\n"
               "  numalens predict --machine ./my.machine --placements as-is,interleave,replicate:table",
    };
    struct predict_arguments arguments = {0};
    struct answer answer = {0};
    struct error err = {0};
    argp_parse(&argp, argc, argv, 0, NULL, &arguments);
    int failed = parse_placements(&arguments, &err);
    progress_line_begin("predict", false, arguments.as_json);
    int status = failed ? EXIT_USAGE : EXIT_OK;
    if (!failed && answer_all(&arguments, &answer, &err))
        status = EXIT_FAILED;
    if (status != EXIT_OK)
        command_failed("predict", &err);
    array_each (&answer.machines, struct machine_rows, machine) {
        model_free(machine->model);
        predict_verdict_free(&machine->verdict);
    }
    array_free(&answer.machines);
    array_free(&answer.rows);
    array_each (&arguments.asked, const struct asked, asked)
        free(asked->name);
    array_free(&arguments.asked);
    input_free(&arguments.input);
    return status;
}
