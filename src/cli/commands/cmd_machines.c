/* cli/commands/cmd_machines.c - numalens machines: the models of machines, one of them, or one of the machine at hand. */
#include "base/number.h"
#include "cli/command.h"

#include "base/json.h"
#include "base/mem.h"
#include "cli/usage/option_value.h"
#include "machine/model.h"
#include "machine/from_hwloc.h"
#include "machine/measure.h"
#include "machine/mlc.h"
#include "topology/hwloc_file.h"

#include <argp.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct machines_arguments {
    const char *name, *import, *output;
    uint32_t cpus;
    bool as_json, measure;
};

enum { KEY_MEASURE = 256, KEY_IMPORT, KEY_CPUS, CPUS_DEFAULT = 16 };

static void print_row(const struct model *machine)
{
    struct model_summary sum = model_summary(machine);
    printf("  %-16s %5u %6u  %6.0f ns ", machine->name, machine->node_count,
           machine->node_count * machine->cpus_per_node, sum.local_ns);
    if (machine->node_count > 1)
        printf("%6.0f ns  %5.0f GB/s %5.0f GB/s\n", sum.remote_ns, sum.local_gbs, sum.remote_gbs);
    else
        printf("%9s  %5.0f GB/s %10s\n", "-", sum.local_gbs, "-");
}

static void print_matrix(const struct model *machine, const char *title, const double *matrix)
{
    printf("\n%s\n  %4s", title, "");
    for (uint32_t to = 0; to < machine->node_count; to++)
        printf(" %6u", to);
    putchar('\n');
    for (uint32_t from = 0; from < machine->node_count; from++) {
        printf("  %4u", from);
        for (uint32_t to = 0; to < machine->node_count; to++)
            printf(" %6.1f", matrix[from * machine->node_count + to]);
        putchar('\n');
    }
}

static void print_machine(const struct model *machine)
{
    printf("%s\n", machine->title);
    printf("  source    %s%s%s%s\n", machine->source, machine->licence ? " (" : "",
           machine->licence ? machine->licence : "", machine->licence ? ")" : "");
    printf("  topology  %s: %u node%s, %u CPUs\n", machine->topology, machine->node_count,
           machine->node_count == 1 ? "" : "s", machine->node_count * machine->cpus_per_node);
    for (uint32_t i = 0; i < machine->cache_count; i++) {
        const struct model_cache *cache = &machine->caches[i];
        printf("  L%u cache  %s, ", cache->level, number_bytes(cache->bytes));
        printf(cache->cores == 1 ? "each core its own\n" : "shared by %u cores\n", cache->cores);
    }
    print_matrix(machine, "Latency in ns, idle: from the CPUs of a node (rows) to the memory of a node (columns)",
                 machine->latency);
    print_matrix(machine, "Bandwidth in GB/s: all CPUs of a node (rows) reading from a node (columns)", machine->read);
    putchar('\n');
    if (machine->core > 0)
        printf("One core reads %.1f GB/s from its own node.\n", machine->core);
    if (machine->mixed > 0)
        printf("With one write for each read: %.0f%% of that bandwidth.\n", 100 * machine->mixed);
    if (machine->loads.count > 0) {
        fputs("Latency under load:", stdout);
        array_each (&machine->loads, const struct model_load, load)
            printf("%s x%.2f at %.0f%%", load == machine->loads.items ? "" : ",", load->factor, 100 * load->use);
        puts(" of the bandwidth.");
    }
}

static void write_matrix(struct json *json, const char *key, const struct model *machine, const double *matrix)
{
    json_array(json, key);
    for (uint32_t from = 0; from < machine->node_count; from++) {
        json_array(json, NULL);
        for (uint32_t to = 0; to < machine->node_count; to++)
            json_real(json, NULL, matrix[from * machine->node_count + to], 1);
        json_end(json);
    }
    json_end(json);
}

/* What a model does not say is null. */
static void write_known(struct json *json, const char *key, double value)
{
    json_real(json, key, value > 0 ? value : NAN, 3);
}

static void write_machine(struct json *json, const struct model *machine)
{
    json_object(json, NULL);
    json_text(json, "name", machine->name);
    json_text(json, "title", machine->title);
    json_text(json, "source", machine->source);
    json_text(json, "licence", machine->licence);
    json_text(json, "topology", machine->topology);
    json_number(json, "nodes", machine->node_count);
    json_number(json, "cpus", machine->node_count * machine->cpus_per_node);
    write_matrix(json, "latency_ns", machine, machine->latency);
    write_matrix(json, "read_gb_s", machine, machine->read);
    write_known(json, "mixed_share", machine->mixed);
    write_known(json, "core_gb_s", machine->core);
    json_array(json, "caches");
    for (uint32_t i = 0; i < machine->cache_count; i++) {
        json_object(json, NULL);
        json_number(json, "level", machine->caches[i].level);
        json_number(json, "bytes", machine->caches[i].bytes);
        json_number(json, "cores", machine->caches[i].cores);
        json_end(json);
    }
    json_end(json);
    json_array(json, "loaded");
    array_each (&machine->loads, const struct model_load, load) {
        json_object(json, NULL);
        json_real(json, "use", load->use, 3);
        json_real(json, "factor", load->factor, 3);
        json_end(json);
    }
    json_end(json);
    json_end(json);
}

static int list(const struct machines_arguments *arguments, struct error *err)
{
    struct model_names names = {0};
    int failed = model_names(&names, err);
    struct json *json = NULL;
    if (!failed && arguments->as_json) {
        json = json_new(stdout);
        json_object(json, NULL);
        json_number(json, "version", 1);
        json_array(json, "machines");
    } else if (!failed) {
        printf("  %-16s %5s %6s  %9s %9s  %10s %10s\n", "machine", "nodes", "CPUs", "local", "remote", "local",
               "remote");
    }
    array_each (&names.list, char *, name) {
        struct model *machine = failed ? NULL : model_find(*name, err);
        if (!machine)
            failed = failed ? failed : err->code;
        else if (json)
            write_machine(json, machine);
        else
            print_row(machine);
        model_free(machine);
    }
    if (json && json_finish(json, err) < 0)
        failed = err->code;
    if (!failed && !json)
        puts("\nnumalens machines NAME shows one;\nnumalens machines --measure -o my.machine makes one of this "
             "machine.");
    model_names_free(&names);
    return failed;
}

/* XML is hwloc's; anything else should be what mlc printed. */
static struct model *import_text(const struct machines_arguments *arguments, char *text, const char *path,
                                 struct error *err)
{
    if (text[strspn(text, " \t\r\n")] == '<') {
        if (!arguments->cpus)
            return model_from_hwloc(text, path, err);
        error_set(err, -EINVAL, "--cpus goes with what mlc printed: hwloc's XML has the number of cores");
        return NULL;
    }
    FILE *in = fmemopen(text, strlen(text), "r");
    if (!in) {
        error_set(err, -errno, "cannot read %.300s: %s", path, strerror(errno));
        return NULL;
    }
    struct model *machine = model_from_mlc(in, path, arguments->cpus ? arguments->cpus : CPUS_DEFAULT, err);
    fclose(in);
    return machine;
}

static struct model *import(const struct machines_arguments *arguments, struct error *err)
{
    bool standard = strcmp(arguments->import, "-") == 0;
    FILE *in = standard ? stdin : fopen(arguments->import, "re");
    if (!in) {
        error_set(err, -errno, "cannot open %.300s: %s", arguments->import, strerror(errno));
        return NULL;
    }
    const char *path = standard ? "standard input" : arguments->import;
    char *text = hwloc_file_read(in, path, err);
    struct model *machine = NULL;
    if (text && !*text)
        error_set(err, -EINVAL, "%.300s: there is nothing in it", path);
    else if (text)
        machine = import_text(arguments, text, path, err);
    free(text);
    if (!standard)
        fclose(in);
    return machine;
}

/* A new file only: a model that somebody made by hand is not overwritten. */
static int save(const struct model *machine, const char *path, struct error *err)
{
    FILE *out = fopen(path, "wxe");
    if (!out)
        return error_set(err, -errno, "cannot create %.300s: %s%s", path, strerror(errno),
                         errno == EEXIST ? "; remove it or choose another name" : "");
    model_write(machine, out);
    bool bad = ferror(out);
    if (fclose(out) != 0 || bad) {
        remove(path);
        return error_set(err, -EIO, "cannot write %.300s: no room left, or the disk failed; nothing was kept", path);
    }
    return 0;
}

static int show(const struct machines_arguments *arguments, struct error *err)
{
    struct model *machine = arguments->measure  ? model_measure(err)
                            : arguments->import ? import(arguments, err)
                                                : model_find(arguments->name, err);
    int failed = machine ? 0 : err->code;
    if (machine && arguments->output) {
        failed = save(machine, arguments->output, err);
    } else if (machine && arguments->as_json) {
        struct json *json = json_new(stdout);
        write_machine(json, machine);
        failed = json_finish(json, err);
    } else if (machine) {
        print_machine(machine);
    }
    model_free(machine);
    return failed;
}

static const struct argp_option option_table[] = {
    {"json", 'j', 0, 0, "for programs to read", 0},
    {"output", 'o', "FILE", 0, "write the measured or imported model to a new file", 0},
    {"measure", KEY_MEASURE, 0, 0,
     "make a model of this machine: idle latency and bandwidth from each node to each node", 0},
    {"import", KEY_IMPORT, "FILE", 0,
     "make a model of what Intel's Memory Latency Checker (mlc) printed, or of a topology with memory attributes "
     "that "
     "hwloc wrote as XML; - is standard input",
     0},
    {"cpus", KEY_CPUS, "N", 0, "CPUs of a node, which mlc does not print (16)", 0},
    {0},
};

static const struct option_value values[] = {
    OPTION_FLAG('j', struct machines_arguments, as_json),
    OPTION_TEXT('o', struct machines_arguments, output),
    OPTION_FLAG(KEY_MEASURE, struct machines_arguments, measure),
    OPTION_TEXT(KEY_IMPORT, struct machines_arguments, import),
    OPTION_NUMBER(KEY_CPUS, struct machines_arguments, cpus, 1, MODEL_CPUS / MODEL_NODES),
    {0},
};

static error_t parse(int key, char *text, struct argp_state *state)
{
    struct machines_arguments *arguments = state->input;
    switch (key) {
    case ARGP_KEY_ARG:
        if (arguments->name)
            argp_error(state, "shows one machine at a time");
        arguments->name = text;
        return 0;
    case ARGP_KEY_END:
        if ((arguments->name != NULL) + arguments->measure + (arguments->import != NULL) > 1)
            argp_error(state, "a name, --measure and --import exclude each other");
        if (arguments->output && !arguments->measure && !arguments->import)
            argp_error(state, "-o goes with --measure or --import");
        if (arguments->cpus && !arguments->import)
            argp_error(state, "--cpus goes with --import");
        return 0;
    default:
        return option_value_take(values, option_table, key, text, state);
    }
}

int cmd_machines(int argc, char **argv)
{
    static const struct argp argp = {
        .options = option_table,
        .parser = parse,
        .args_doc = "[NAME]",
        .doc = "Lists the models of machines that come with numalens, shows one, or makes one.\v"
               "A model says what memory costs from node to node: latency, bandwidth, and latency under load. NAME is "
               "one of the "
               "list or a file that ends in .machine.\n"
               "\nEXAMPLES\n  numalens machines\n  numalens machines xeon-8360y\n  numalens machines --measure -o "
               "my.machine\n"
               "  mlc | numalens machines --import - --cpus 32 -o server.machine\n"
               "  lstopo server.xml && numalens machines --import server.xml -o server.machine",
    };
    struct machines_arguments arguments = {0};
    struct error err = {0};
    argp_parse(&argp, argc, argv, 0, NULL, &arguments);
    bool one = arguments.name || arguments.measure || arguments.import;
    int failed = one ? show(&arguments, &err) : list(&arguments, &err);
    if (!failed && fflush(stdout) != 0)
        failed = error_set(&err, -EIO, "cannot write the answer");
    return failed ? command_failed("machines", &err) : EXIT_OK;
}
