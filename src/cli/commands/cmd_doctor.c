/* cli/commands/cmd_doctor.c - numalens doctor: the answer first, then each check, then what would enable the rest. */
#include "base/number.h"
#include "cli/command.h"
#include "cli/terminal.h"

#include "base/json.h"
#include "calibrate/calibrate.h"
#include "capture/faults/settings.h"
#include "cli/usage/option_value.h"
#include "doctor/doctor.h"
#include "topology/calibration.h"
#include "topology/topology.h"
#include "view/paragraph.h"

#include <argp.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Like the paper's Figure 1: a memory field is a node's CPUs and a node's memory. */
static void print_memory(const struct calibration *calibration, const struct topology *topology)
{
    printf("\nMemory fields (ns a load: chain of loads / as the sampler times one)\n  from CPUs of");
    for (uint32_t to = 0; to < calibration->node_count; to++)
        printf("%*sto node %-4d", to ? 4 : 3, "", topology->nodes[to].os_index);
    putchar('\n');
    for (uint32_t from = 0; from < calibration->node_count; from++) {
        printf("  node %-7d", topology->nodes[from].os_index);
        for (uint32_t to = 0; to < calibration->node_count; to++) {
            const struct calibration_field *field = &calibration->memory[from * calibration->node_count + to];
            if (field->chased > 0)
                printf("  %5.0f / %-5.0f", field->chased, field->sampled);
            else
                printf("  %13s", "not measured");
        }
        putchar('\n');
    }
}

static void calibration_print(const struct calibration *calibration, const struct topology *topology)
{
    printf("Caches                   ns a load  as the sampler times one\n");
    for (uint32_t i = 0; i < calibration->cache_count; i++) {
        const struct calibration_cache *cache = &calibration->caches[i];
        printf("  L%u ", cache->level);
        printf("%10s", number_bytes(cache->size));
        printf("%19.1f  %24.1f\n", cache->field.chased, cache->field.sampled);
    }
    print_memory(calibration, topology);
    if (calibration_shows(calibration))
        printf("\nFrom %u ns on, a sampled load counts as served by memory.\n", calibration_beyond_caches(calibration));
    else
        puts("\nCaches and memory are too similar here: a latency does not show which of them served a load.");
}

static void write_field(struct json *json, const struct calibration_field *field)
{
    json_real(json, "chased_ns", field->chased, 2);
    json_real(json, "sampled_ns", field->sampled, 2);
    json_end(json);
}

static int calibration_write_json(const struct calibration *calibration, const struct topology *topology,
                                  struct error *err)
{
    struct json *json = json_new(stdout);
    json_object(json, NULL);
    json_number(json, "version", JSON_VERSION);
    json_bool(json, "distinguishes", calibration_shows(calibration));
    json_number(json, "memory_from_ns", calibration_beyond_caches(calibration));
    json_array(json, "caches");
    for (uint32_t i = 0; i < calibration->cache_count; i++) {
        json_object(json, NULL);
        json_number(json, "level", calibration->caches[i].level);
        json_number(json, "size", calibration->caches[i].size);
        write_field(json, &calibration->caches[i].field);
    }
    json_end(json);
    json_array(json, "memory");
    for (uint32_t i = 0; i < calibration->node_count * calibration->node_count; i++) {
        if (calibration->memory[i].chased <= 0)
            continue;
        json_object(json, NULL);
        json_integer(json, "from", topology->nodes[i / calibration->node_count].os_index);
        json_integer(json, "to", topology->nodes[i % calibration->node_count].os_index);
        write_field(json, &calibration->memory[i]);
    }
    return json_finish(json, err);
}

enum { NAME_WIDTH = 22, MATRIX_MOST = 16 };

static const struct {
    const char *group, *title;
} groups[] = {
    {"sources", "Sources of samples"},
    {"mechanisms", "Pages that fault again"},
    {"homes", "Home nodes of pages"},
    {"permissions", "Permissions"},
};

static const char *const status_names[] = {
    [DOCTOR_WORKS] = "works", [DOCTOR_LIMITED] = "limited", [DOCTOR_MISSING] = "missing", [DOCTOR_FACT] = "fact"};

struct paint {
    const char *good, *middling, *bad, *faint, *bold, *off;
};

static struct paint choose_paint(void)
{
    if (!isatty(STDOUT_FILENO) || getenv("NO_COLOR"))
        return (struct paint){"", "", "", "", "", ""};
    return (struct paint){"\033[32m", "\033[33m", "\033[31m", "\033[2m", "\033[1m", "\033[0m"};
}

static void print_check(const struct doctor_check *check, const struct paint *paint, unsigned width)
{
    const char *const marks[] = {
        [DOCTOR_WORKS] = "ok", [DOCTOR_LIMITED] = "part", [DOCTOR_MISSING] = "no", [DOCTOR_FACT] = "-"};
    const char *const colours[] = {[DOCTOR_WORKS] = paint->good,
                                   [DOCTOR_LIMITED] = paint->middling,
                                   [DOCTOR_MISSING] = paint->bad,
                                   [DOCTOR_FACT] = paint->faint};
    unsigned hang = NAME_WIDTH + 10;
    printf("  %s%-4s%s  ", colours[check->status], marks[check->status], paint->off);
    paragraph_labelled(stdout, check->name, 0, NAME_WIDTH + 2, width ? width - 8 : 0, "%s", check->detail);
    if (check->remedy)
        paragraph_labelled(stdout, "->", hang, hang + 3, width, "%s", check->remedy);
}

/* "0-3,8" for the CPUs of a node, into `text`. */
static void list_cpus(const struct topology *topology, uint32_t node, char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (uint32_t cpu = 0; cpu < topology->cpu_count; cpu++) {
        if (topology->node_of_cpu[cpu] != (int32_t)node)
            continue;
        uint32_t last = cpu;
        while (last + 1 < topology->cpu_count && topology->node_of_cpu[last + 1] == (int32_t)node)
            last++;
        int written = last == cpu ? snprintf(text + used, size - used, "%s%u", used ? "," : "", cpu)
                                  : snprintf(text + used, size - used, "%s%u-%u", used ? "," : "", cpu, last);
        if (written < 0 || (used += (size_t)written) >= size)
            return;
        cpu = last;
    }
}

static void print_topology(const struct doctor *doctor, const struct paint *paint)
{
    const struct topology *topology = doctor->topology;
    printf("\n%sTopology%s\n", paint->bold, paint->off);
    if (!topology) {
        printf("  %sno%s    %s\n", paint->bad, paint->off, doctor->topology_trouble);
        return;
    }
    bool matrix = topology->node_count <= MATRIX_MOST;
    printf("  %snode     memory  %-20s%s%s\n", paint->faint, "CPUs", matrix ? "  distance to each" : "", paint->off);
    for (uint32_t node = 0; node < topology->node_count; node++) {
        char cpus[256];
        list_cpus(topology, node, cpus, sizeof cpus);
        double mib = (double)topology->nodes[node].memory / (1 << 20);
        printf("  %4d  %5.1f %s  %-20s", topology->nodes[node].os_index, mib < 1024 ? mib : mib / 1024,
               mib < 1024 ? "MiB" : "GiB", *cpus ? cpus : "none");
        for (uint32_t to = 0; matrix && to < topology->node_count; to++)
            printf("%s%3u", to ? " " : "  ", topology_distance(topology, node, to));
        putchar('\n');
    }
}

static void print_text(const struct doctor *doctor)
{
    struct paint paint = choose_paint();
    struct view_options view = {0};
    terminal_look(&(struct terminal_options){.view = &view});
    fputs(doctor->can_record ? paint.good : paint.bad, stdout);
    paragraph(stdout, 0, view.width, "", "%s.", doctor->answer);
    fputs(paint.off, stdout);
    if (doctor->topology && doctor->topology->node_count == 1)
        paragraph(stdout, 0, view.width, "",
                  "There is one memory node here, so nothing is remote; record --topology \"numa:2 core:2\" "
                  "simulates more.");
    fputs(paint.faint, stdout);
    paragraph(stdout, 0, view.width, "", "%s", doctor->machine);
    fputs(paint.off, stdout);
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
        printf("\n%s%s%s\n", paint.bold, groups[i].title, paint.off);
        array_each (&doctor->checks, struct doctor_check, check)
            if (strcmp(check->group, groups[i].group) == 0)
                print_check(check, &paint, view.width);
        if (i == 1)
            print_topology(doctor, &paint);
    }
    printf("\n%sdocs/doctor.md explains each line; doctor --json is for programs%s\n", paint.faint, paint.off);
}

static void write_topology(struct json *json, const struct topology *topology)
{
    json_object(json, "topology");
    json_bool(json, "simulated", topology->simulated);
    json_number(json, "cpus", topology->cpu_count);
    json_array(json, "nodes");
    for (uint32_t node = 0; node < topology->node_count; node++) {
        json_object(json, NULL);
        json_integer(json, "node", topology->nodes[node].os_index);
        json_number(json, "memory", topology->nodes[node].memory);
        json_array(json, "cpus");
        for (uint32_t cpu = 0; cpu < topology->cpu_count; cpu++)
            if (topology->node_of_cpu[cpu] == (int32_t)node)
                json_number(json, NULL, cpu);
        json_end(json);
        json_array(json, "distances");
        for (uint32_t to = 0; to < topology->node_count; to++)
            json_number(json, NULL, topology_distance(topology, node, to));
        json_end(json);
        json_end(json);
    }
    json_end(json);
    json_end(json);
}

static int write_json(const struct doctor *doctor, struct error *err)
{
    struct json *json = json_new(stdout);
    json_object(json, NULL);
    json_number(json, "version", JSON_VERSION);
    json_bool(json, "works", doctor->can_record);
    json_text(json, "answer", doctor->answer);
    json_text(json, "machine", doctor->machine);
    json_array(json, "checks");
    array_each (&doctor->checks, struct doctor_check, check) {
        json_object(json, NULL);
        json_text(json, "group", check->group);
        json_text(json, "id", check->id);
        json_text(json, "name", check->name);
        json_text(json, "status", status_names[check->status]);
        json_text(json, "detail", check->detail);
        json_text(json, "remedy", check->remedy);
        json_end(json);
    }
    json_end(json);
    if (doctor->topology)
        write_topology(json, doctor->topology);
    else
        json_null(json, "topology");
    return json_finish(json, err);
}

struct arguments {
    bool as_json, exercise, calibrate, repair;
};

enum { KEY_EXERCISE = 256, KEY_CALIBRATE, KEY_REPAIR };

static const struct argp_option option_table[] = {
    {"json", 'j', 0, 0, "for programs to read", 0},
    {"calibrate", KEY_CALIBRATE, 0, 0, "measure how long loads take, from each node to each node and cache", 0},
    {"repair", KEY_REPAIR, 0, 0, "put back settings of the system that a killed recording left changed", 0},
    {"exercise", KEY_EXERCISE, 0, OPTION_HIDDEN, 0, 0},
    {0},
};

static const struct option_value values[] = {
    OPTION_FLAG('j', struct arguments, as_json),
    OPTION_FLAG(KEY_EXERCISE, struct arguments, exercise),
    OPTION_FLAG(KEY_CALIBRATE, struct arguments, calibrate),
    OPTION_FLAG(KEY_REPAIR, struct arguments, repair),
    {0},
};

static error_t parse(int key, char *text, struct argp_state *state)
{
    if (key == ARGP_KEY_ARG)
        argp_error(state, "takes no arguments");
    return option_value_take(values, option_table, key, text, state);
}

static int calibrate_here(bool as_json)
{
    struct error err = {0};
    struct topology *topology = topology_load(&err);
    struct calibration *calibration = topology ? calibrate(topology, &err) : NULL;
    int failed = -1;
    if (calibration) {
        calibrate_keep(topology, calibration);
        failed = as_json ? calibration_write_json(calibration, topology, &err) : 0;
        if (!as_json)
            calibration_print(calibration, topology);
        if (!failed && fflush(stdout) != 0)
            failed = error_set(&err, -1, "cannot write the answer");
    }
    calibration_free(calibration);
    topology_free(topology);
    return failed ? command_failed("doctor", &err) : EXIT_OK;
}

static int repair_here(void)
{
    struct error err = {0};
    char what[256];
    int done = settings_repair(what, sizeof what, &err);
    if (done < 0)
        return command_failed("doctor", &err);
    if (done)
        printf("Put back: %s.\n", what);
    else
        printf("Nothing to put back.\n");
    return EXIT_OK;
}

int cmd_doctor(int argc, char **argv)
{
    static const struct argp argp = {
        .options = option_table,
        .parser = parse,
        .doc = "Prints what works on this machine, why the rest does not, and how to enable it.\vExit status: 0 when "
               "record works here, 1 when it cannot.\n\n"
               "EXAMPLES\n"
               "  numalens doctor\n"
               "  numalens doctor --json\n"
               "  numalens doctor --calibrate\n"
               "  sudo numalens doctor --repair",
    };
    struct arguments arguments = {0};
    argp_parse(&argp, argc, argv, 0, NULL, &arguments);
    if (arguments.exercise) {
        doctor_exercise();
        return EXIT_OK;
    }
    if (arguments.repair)
        return repair_here();
    if (arguments.calibrate)
        return calibrate_here(arguments.as_json);
    struct doctor *doctor = doctor_examine();
    struct error err = {0};
    int failed = 0;
    if (arguments.as_json)
        failed = write_json(doctor, &err);
    else
        print_text(doctor);
    if (!failed && fflush(stdout) != 0)
        failed = error_set(&err, -1, "cannot write the answer");
    int status = failed ? command_failed("doctor", &err) : doctor->can_record ? EXIT_OK : EXIT_FAILED;
    doctor_free(doctor);
    return status;
}
