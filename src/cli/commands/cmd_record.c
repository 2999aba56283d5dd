/* cli/commands/cmd_record.c - numalens record: the options, then capture/recorder.h, then one or two lines on stderr. */
#include "cli/command.h"
#include "base/text.h"
#include "cli/usage/command_options.h"

#include "base/mem.h"
#include "calibrate/calibrate.h"
#include "capture/agent/custom_spec.h"
#include "capture/faults/mechanism.h"
#include "capture/job_rank.h"
#include "capture/process/find_processes.h"
#include "capture/process/program.h"
#include "capture/recorder.h"
#include "capture/recorder_signals.h"
#include "capture/system_recorder.h"
#include "cli/usage/option_value.h"
#include "cli/usage/perf_habits.h"
#include "cli/sampling_options.h"
#include "machine/model.h"
#include "topology/placement.h"
#include "base/number.h"
#include "wire/record.h"

#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
    PROCESS_NS = 70000, /* that a fork costs at least beyond what the agent accounts for; an exec takes 470 us */
    WORTH_SAYING = 50,  /* one part in so many of the CPU time */
};

enum {
    KEY_MEMORY = 256,
    KEY_FRAMES,
    KEY_REDACT,
    KEY_ALLOC_FN,
    KEY_FREE_FN,
    KEY_POOL_FN,
    KEY_THREADS,
    KEY_START,
    KEY_STOP,
    KEY_NO_CALIBRATION,
    KEY_FAULTS,
    KEY_INTERVAL,
    KEY_MECHANISM,
    KEY_CHUNKS,
    KEY_CHUNK_PAGES,
    KEY_PLACEMENT,
    KEY_CALL_GRAPH,
    KEY_ROTATE,
    KEY_KEEP,
    KEY_MACHINE,
    KEY_CGROUP,
    KEY_CONTAINER,
};

static const struct argp_option option_table[] = {
    {"output", 'o', "FILE", 0,
     "write the recording to FILE (numalens.data; in a job numalens.JOB/rank-RANK.HOST.data); %r, %h and %j in it are "
     "rank, host and job",
     1},
    {"rotate", KEY_ROTATE, "TIME", 0,
     "begin a next file after each such time, such as 60s, 10m or 1h: numalens.000001.data and so on, each whole by "
     "itself",
     1},
    {"keep", KEY_KEEP, "N", 0, "with --rotate: keep the latest N files, and remove older ones of this run", 1},
    {"all-cpus", 'a', 0, 0, "record the whole machine with hardware samples; heap objects are then not known", 1},
    {"pid", 'p', "PID[,PID]", 0,
     "record running processes and their children: with hardware samples, or from outside (docs/outside.md)", 1},
    {"cgroup", KEY_CGROUP, "PATH", 0,
     "record all processes of this cgroup, such as /system.slice/redis.service, and those that join it later", 1},
    {"container", KEY_CONTAINER, "ID", 0, "record all processes of this container, on its host", 1},
    {"cpu", 'C', "LIST", 0, "with -a: on these CPUs only, such as 0-3,8", 1},
    {"threads", KEY_THREADS, "N", 0, "sample once the program has N threads; objects are followed from the start", 2},
    {"start-after", KEY_START, "TIME", 0, "sample only after this time of the run, such as 2s or 500ms", 2},
    {"stop-after", KEY_STOP, "TIME", 0, "stop sampling after this time of the run", 2},
    {"placement", KEY_PLACEMENT, "HOW", 0,
     "place threads and memory: cluster, distributed, mem0-cpu0, mem0-cpu1, interleave, weighted, local "
     "(docs/compare.md)",
     3},
    {"no-calibration", KEY_NO_CALIBRATION, 0, 0,
     "do not record load latencies of the idle machine (docs/machines.md); the first recording since boot measures "
     "them",
     3},
    {"frames", KEY_FRAMES, "N", 0, "call chains of at most N frames (32)", 3},
    {0, 0, 0, 0, "Pages that are used, from page faults (docs/pages.md):", 4},
    {"faults", KEY_FAULTS, 0, 0, "record them beside the samples; --source faults records nothing else", 4},
    {"interval", KEY_INTERVAL, "TIME", 0, "pages fault again after this time (50ms)", 4},
    {"mechanism", KEY_MECHANISM, "WHICH", 0, "how pages are made to fault: auto, numa-hint, soft-dirty, uffd-wp, none",
     4},
    {"chunks", KEY_CHUNKS, "N", 0, "keep the pages of at most N threads until their interval ends (1024)", 4},
    {"chunk-pages", KEY_CHUNK_PAGES, "N", 0, "and at most N pages of each (16384)", 4},
    {"machine", KEY_MACHINE, "NAME", 0,
     "simulate the nodes of this machine, and let reports judge on it; 'numalens machines' lists them",
     SAMPLING_LAST_GROUP},
    {0, 0, 0, 0, "Allocators of the program's own (docs/objects.md):", 6},
    {"alloc-fn", KEY_ALLOC_FN, "NAME:HOW", 0, "a function that allocates, such as my_alloc:size=1", 6},
    {"free-fn", KEY_FREE_FN, "NAME:HOW", 0, "a function that frees, such as my_free:ptr=1", 6},
    {"pool-fn", KEY_POOL_FN, "NAME:HOW", 0,
     "a function of pools, such as my_destroy:destroy,pool=1; or a ready set: apr", 6},
    {0, 0, 0, 0, "The command itself:", 7},
    {"redact", KEY_REDACT, 0, 0, "write no arguments, paths, host or thread names (docs/security.md)", 7},
    {"memory", KEY_MEMORY, "MIB", 0, "memory that the recorder may use (64)", 7},
    {"quiet", 'q', 0, 0, "print nothing but errors", 7},
    {"verbose", 'v', 0, 0, "print more at the end", 7},
    {"event", 'e', "EVENT", OPTION_HIDDEN, 0, 7}, /* of perf, as are the next: docs/perf.md */
    {0, 'g', 0, OPTION_HIDDEN, 0, 7},
    {"call-graph", KEY_CALL_GRAPH, "HOW", OPTION_HIDDEN, 0, 7},
    {0},
};

struct arguments {
    struct sampling_options sampling;
    bool no_calibration;
    const char *of_faults; /* an option that was given and is only for them, or NULL */
    const char *placement, *machine;
    struct model *model; /* of --machine */
    unsigned events;     /* that -e asked for */
    struct custom_specs custom;
    struct job_rank rank;
    char *output; /* its file */
};

static void name_function(struct arguments *arguments, enum custom_option option, const char *text)
{
    static const char *const names[] = {"--alloc-fn", "--free-fn", "--pool-fn"};
    struct error err = {0};
    if (custom_spec_add(&arguments->custom, option, text, &err) < 0)
        option_refuse("%s %s", names[option], err.text);
}

/* Options of --faults. False when `key` is another one. */
static bool parse_faults(struct arguments *arguments, int key, const char *text)
{
    static const char *const mechanisms[] = {"auto", "numa-hint", "soft-dirty", "uffd-wp", "none", NULL};
    struct capture_options *options = &arguments->sampling.capture;
    switch (key) {
    case KEY_INTERVAL:
        options->interval_ns = option_time("interval", text, 1e6, 1e11, "a time between 1ms and 100s is wanted");
        arguments->of_faults = "interval";
        return true;
    case KEY_MECHANISM:
        options->mechanism = (enum fault_mechanism)option_choice("mechanism", text, mechanisms);
        arguments->of_faults = "mechanism";
        return true;
    case KEY_CHUNKS:
        options->chunks = (uint32_t)option_whole("chunks", text, 1, 1000000);
        arguments->of_faults = "chunks";
        return true;
    case KEY_CHUNK_PAGES:
        options->chunk_pages = (uint32_t)option_whole("chunk-pages", text, 1, 10000000);
        arguments->of_faults = "chunk-pages";
        return true;
    default:
        return false;
    }
}

/* Options of perf record. False when `key` is another one. */
static bool parse_perf(struct arguments *arguments, int key, const char *text, const struct argp_state *state)
{
    const char *instead = NULL;
    if (key == 'e')
        instead = perf_events(text, &arguments->sampling.capture, &arguments->events);
    else if (key == KEY_CALL_GRAPH)
        instead = perf_call_graph(text);
    else if (key != 'g') /* call chains are always recorded */
        return false;
    if (instead)
        command_instead(state, key == 'e' ? "-e" : "--call-graph", text, instead);
    return true;
}

static const struct option_value values[] = {
    OPTION_FLAG('a', struct arguments, sampling.capture.system),
    OPTION_FLAG(KEY_FAULTS, struct arguments, sampling.capture.faults),
    OPTION_NUMBER(KEY_FRAMES, struct arguments, sampling.capture.max_frames, 1, WIRE_MAX_FRAMES),
    OPTION_NUMBER(KEY_THREADS, struct arguments, sampling.capture.start_threads, 1, 1000000),
    OPTION_NUMBER(KEY_KEEP, struct arguments, sampling.capture.keep, 1, 1000000000),
    OPTION_TEXT(KEY_MACHINE, struct arguments, machine),
    OPTION_FLAG(KEY_NO_CALIBRATION, struct arguments, no_calibration),
    OPTION_FLAG(KEY_REDACT, struct arguments, sampling.capture.redact),
    {0},
};

static error_t parse(int key, char *text, struct argp_state *state)
{
    struct arguments *arguments = state->input;
    struct sampling_options *sampling = &arguments->sampling;
    struct capture_options *options = &sampling->capture;
    switch (key) {
    case 'p':
        option_pids(sampling, text);
        break;
    case KEY_CGROUP:
        option_cgroup(sampling, text);
        break;
    case KEY_CONTAINER:
        option_container(sampling, text);
        break;
    case 'C':
        options->cpus = text;
        if (!*text || text[strspn(text, "0123456789,-")])
            option_complain("cpu", text, "numbers of CPUs are wanted, such as 0-3,8");
        break;
    case KEY_ROTATE:
        options->rotate_ns = option_time("rotate", text, 1e8, 1e16, "a time of 100ms or more is wanted, such as 60s");
        break;
    case KEY_START:
        options->start_ns = option_time("start-after", text, 0, 1e15, "a time with its unit is wanted");
        break;
    case KEY_STOP:
        options->stop_ns = option_time("stop-after", text, 1, 1e15, "a time with its unit is wanted");
        break;
    case KEY_PLACEMENT:
        arguments->placement = text;
        if (placement_named(text) == PLACEMENTS)
            option_complain("placement", text,
                            "there are cluster, distributed, mem0-cpu0, mem0-cpu1, interleave, weighted, local");
        break;
    case KEY_ALLOC_FN:
        name_function(arguments, CUSTOM_ALLOC_FN, text);
        break;
    case KEY_FREE_FN:
        name_function(arguments, CUSTOM_FREE_FN, text);
        break;
    case KEY_POOL_FN:
        name_function(arguments, CUSTOM_POOL_FN, text);
        break;
    case KEY_MEMORY:
        options->memory = option_whole("memory", text, 16, 65536) << 20;
        break;
    default:
        if (parse_faults(arguments, key, text) || parse_perf(arguments, key, text, state))
            return 0;
        return sampling_options_parse(sampling, values, option_table, key, text, state);
    }
    return 0;
}

static const struct argp parser = {
    option_table,
    parse,
    "[--] PROGRAM [ARGUMENT...]\n-a [-- PROGRAM [ARGUMENT...]]\n-p PID\n--cgroup PATH\n--container ID",
    "Runs PROGRAM, samples its memory accesses, follows its objects, and writes numalens.data.\vExamples:\n"
    "  numalens record -- ./app args\n"
    "  numalens record --topology \"numa:4 core:2\" -- ./app     simulate four nodes\n"
    "  numalens record --machine xeon-8360y -- ./app            what it would take on that machine\n"
    "  numalens record --stores -F 500 -o stores.data -- ./app\n"
    "  numalens record -a -- sleep 10                          everything for ten seconds, on a machine with a PMU\n"
    "  numalens record -p 1234 --stop-after 10s                a running process, likewise\n"
    "  numalens record --container 3f2a9c41b7d0                 all processes of a container, until Ctrl-C\n"
    "  numalens record --rotate 60s --keep 24 -- ./service      the last 24 minutes, in as many files\n"
    "  mpirun -n 4 numalens record -- ./app                    one recording a rank; then numalens report "
    "numalens.JOB\n\n"
    "The exit status is the program's; 127 and 126 when it cannot be found or run, 1 when it cannot be recorded, 2 for "
    "wrong usage.",
    sampling_children,
    NULL,
    NULL,
};

static double percent(uint64_t part, uint64_t whole)
{
    return whole ? 100 * (double)part / (double)whole : 0;
}

/* Of a job's ranks the first speaks for all, unless something was lost: the same line a thousand times helps nobody. */
static bool wants_summary(const struct arguments *arguments, const struct recorder_result *result)
{
    const struct job_rank *rank = &arguments->rank;
    int verbosity = arguments->sampling.verbosity;
    return verbosity > 0 || (verbosity == 0 && (!rank->in_job || rank->number == 0 || result->drops));
}

/* The files of a recording in several, as a shell finds them. */
static char *all_files(const char *output)
{
    size_t length = strlen(output);
    bool data = length > 5 && strcmp(output + length - 5, ".data") == 0 && output[length - 6] != '/';
    return mem_format("%.*s.*%s", (int)(data ? length - 5 : length), output, data ? ".data" : "");
}

/* What to report next: the folder of a job's ranks. */
static void put_next(const struct arguments *arguments)
{
    const char *file = arguments->sampling.capture.output, *slash = strrchr(file, '/');
    if (arguments->sampling.capture.rotate_ns) {
        char *files = all_files(file);
        fprintf(stderr, "; next: numalens report %s\n", files);
        free(files);
        return;
    }
    bool usual = strcmp(file, "numalens.data") == 0, folder = arguments->rank.in_job && slash;
    char *path = folder ? mem_format("%.*s", (int)(slash - file), file) : mem_strdup(file), *word = text_shell(path);
    fprintf(stderr, "; next: numalens report%s%s\n", usual ? "" : " ", usual ? "" : word);
    free(word);
    free(path);
}

/* Whether programs run without the agent. */
static bool outside(const struct capture_options *options)
{
    return options->system || options->pid || process_query_given(&options->query) ||
           options->samples == SAMPLES_OUTSIDE;
}

static void summarise(const struct arguments *arguments, const struct recorder_result *result)
{
    const char *file = arguments->sampling.capture.output;
    bool by_faults = arguments->sampling.capture.samples == SAMPLES_FAULTS;
    fprintf(stderr, "numalens record: ");
    if (result->faults)
        fprintf(stderr, "%" PRIu64 " pages in use, from %" PRIu64 " faults, ", result->pages, result->faults);
    if (!by_faults || result->hardware)
        fprintf(stderr, "%" PRIu64 " samples, ", result->samples);
    char *name = arguments->sampling.capture.rotate_ns ? all_files(file) : mem_strdup(file);
    fprintf(stderr, "%" PRIu64 " objects in %s (", result->objects, name);
    free(name);
    fputs(number_bytes(result->bytes), stderr);
    if (result->removed)
        fprintf(stderr, " in %" PRIu64 " files, of which the last %" PRIu64 " are kept",
                result->files + result->removed, result->files);
    else if (result->files)
        fprintf(stderr, " in %" PRIu64 " file%s", result->files, result->files == 1 ? "" : "s");
    if (result->hardware && !by_faults)
        fprintf(stderr, "); sampled by the processor");
    else if (result->hardware)
        fprintf(stderr, "); samples are page faults");
    else if (by_faults && result->mechanism == MECHANISM_NONE)
        fprintf(stderr, "); first touches only");
    else if (by_faults)
        fprintf(stderr, "); pages fault again by %s%s", mechanism_name(result->mechanism),
                result->write_protect ? " and uffd-wp" : "");
    else
        fprintf(stderr, "); sampling took %.1f%% of the program's CPU time, tracking its objects %.1f%%",
                percent(result->handler_ns, result->target_cpu_ns),
                percent(result->tracking_ns, result->target_cpu_ns));
    if (!outside(&arguments->sampling.capture) && result->processes * PROCESS_NS > result->target_cpu_ns / WORTH_SAYING)
        fprintf(stderr,
                ", without what the kernel and the dynamic linker do for the agent in %" PRIu64 " new processes",
                result->processes);
    if (result->faults_ns)
        fprintf(stderr, "%s %.1f%%%s", by_faults || result->hardware ? "; that took" : ", page faults",
                percent(result->faults_ns, result->target_cpu_ns),
                by_faults || result->hardware ? " of the program's CPU time" : "");
    if (result->drops)
        fprintf(stderr, "; %" PRIu64 " events lost", result->drops);
    put_next(arguments);
    if (result->never_sampled)
        fprintf(stderr, "numalens record: no samples: the program never had the threads, or did not last as long, that "
                        "they should begin with\n");
    if (*result->notes)
        fprintf(stderr, "numalens record: note: %s\n", result->notes);
    if (*result->custom_missing)
        fprintf(stderr, "numalens record: never found in the program or its libraries: %s\n", result->custom_missing);
    if (*result->custom_refused)
        fprintf(stderr, "numalens record: found, but not hooked: %s\n", result->custom_refused);
    if (arguments->sampling.verbosity > 0)
        fprintf(stderr,
                "numalens record: samples from %s; %" PRIu64 " threads in %" PRIu64
                " programs; %.2f s, %.2f s of CPU time, and %.2f s for the recorder\n",
                result->source, result->threads, result->processes, (double)result->duration_ns / 1e9,
                (double)result->target_cpu_ns / 1e9, (double)result->recorder_cpu_ns / 1e9);
    if (arguments->sampling.verbosity > 0 && result->files)
        fprintf(stderr, "numalens record: beginning a next file took at most %.1f ms\n",
                (double)result->rotate_most_ns / 1e6);
}

/* What loads take on this machine, as a text for the trace; NULL when that is not wanted, or not known, or no load is timed. */
static char *know_latencies(const struct arguments *arguments, const struct topology *topology)
{
    struct error ignored = {0};
    const struct capture_options *capture = &arguments->sampling.capture;
    bool timed = capture->latency && capture->samples != SAMPLES_NONE && capture->samples != SAMPLES_FAULTS;
    if (arguments->no_calibration || !timed)
        return NULL;
    struct topology *real = topology->simulated ? topology_load(&ignored) : NULL;
    struct calibration *calibration = real || !topology->simulated ? calibrate_cached(real ? real : topology) : NULL;
    char *text = calibration ? calibration_to_text(calibration) : NULL;
    calibration_free(calibration);
    topology_free(real);
    return text;
}

/* Two options that do not go together. */
static void refuse(const char *option, const char *other, const char *why)
{
    option_refuse("%s %s: %s", option, other, why);
}

/* What goes with -a and -p, and what does not. */
static void check_system(struct arguments *arguments)
{
    struct sampling_options *sampling = &arguments->sampling;
    struct capture_options *options = &sampling->capture;
    bool several = process_query_given(&options->query), running = options->pid || several;
    const char *which = options->system            ? "-a"
                        : options->pid             ? "-p"
                        : options->query.cgroup    ? "--cgroup"
                        : options->query.container ? "--container"
                                                   : "--source outside";
    if (options->cpus && !options->system)
        option_complain("cpu", options->cpus, "this is for -a");
    if (!outside(options))
        return;
    if (options->command && !*options->command)
        options->command = NULL;
    if (running && (options->system || options->command))
        refuse(options->system && several ? "--cgroup or --container" : which,
               options->system ? "with -a" : "with a program", "it is for processes that run already");
    if ((options->pid && several) || (options->query.cgroup && options->query.container))
        refuse(which, "with another choice", "one of -p, --cgroup, --container is wanted");
    if (options->samples == SAMPLES_SOFT || options->samples == SAMPLES_NONE)
        refuse(which, "with this --source",
               "the agent must be in a program from its start; there are outside, pebs, ibs, spe, faults");
    if (options->system && options->samples == SAMPLES_OUTSIDE)
        refuse("-a", "with --source outside", "processes are looked at one by one: name them with -p");
    if ((*options->pids || several) && options->samples != SAMPLES_AUTO && options->samples != SAMPLES_OUTSIDE)
        refuse(which, "with this --source", "several processes are sampled from outside");
    if (arguments->of_faults || (options->faults && options->samples != SAMPLES_FAULTS))
        refuse(which, "with options for faults", "pages do not fault again then");
    if (sampling->spec)
        refuse(which, arguments->machine ? "with --machine" : "with --topology",
               "a simulated topology is for one program");
    if (arguments->custom.count || options->start_threads || options->start_ns || arguments->placement)
        refuse(which, "with options for one program", "programs run without the agent then");
}

/* Where the agent cannot go, and nothing that only it can do is asked for: from outside. */
static void choose_way(struct arguments *arguments)
{
    struct capture_options *options = &arguments->sampling.capture;
    if (outside(options) || options->samples != SAMPLES_AUTO || options->topology->simulated || options->faults ||
        arguments->custom.count || options->start_threads || options->start_ns || options->placement)
        return;
    struct error why = {0};
    if (!program_beyond_agent(options->command[0], &why))
        return;
    options->samples = SAMPLES_OUTSIDE;
    if (arguments->sampling.verbosity >= 0)
        fprintf(stderr, "numalens record: %s: sampled from outside (docs/outside.md)\n", why.text);
}

/* Fills `placement` for this machine, or assigns threads on the simulated one. */
static int place(const struct arguments *arguments, struct topology *topology, struct placement *placement,
                 struct error *err)
{
    struct placement_limits limits;
    placement_limits_here(&limits);
    placement_work_out(placement, placement_named(arguments->placement), topology, &limits);
    if (!placement->possible)
        return error_set(err, -ENODEV, "--placement %s: %s", arguments->placement, placement->text);
    return topology->simulated ? placement_simulate(placement, topology, err) : 0;
}

/* The file to write, with the rank's number in it when this is a process of a job. */
static void name_output(struct arguments *arguments)
{
    struct sampling_options *sampling = &arguments->sampling;
    struct error err = {0};
    job_rank_find(&arguments->rank, getenv);
    sampling->capture.rank = &arguments->rank;
    arguments->output = job_rank_file(&arguments->rank, sampling->capture.output, &err);
    if (!arguments->output)
        option_refuse("%s", err.text);
    sampling->capture.output = arguments->output;
}

/* The model that --machine names; its nodes take the place of --topology. */
static int find_machine(struct arguments *arguments)
{
    struct sampling_options *sampling = &arguments->sampling;
    struct error err = {0};
    if (!arguments->machine)
        return 0;
    if (sampling->spec)
        option_complain("machine", "together with --topology", "it has a topology of its own");
    arguments->model = model_find(arguments->machine, &err);
    if (!arguments->model)
        return command_failed("record", &err);
    sampling->spec = arguments->model->topology;
    return 0;
}

/* As the trace keeps it: files of models may be deleted later. */
static char *machine_text(const struct model *model)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = model ? open_memstream(&text, &size) : NULL;
    if (!out)
        return NULL;
    model_write(model, out);
    fclose(out);
    return text;
}

static struct topology *topology_of(const struct arguments *arguments, struct error *err)
{
    const struct sampling_options *sampling = &arguments->sampling;
    return arguments->model ? model_topology_assigned(arguments->model, sampling->assign, sampling->homes, err)
                            : sampling_options_topology(sampling, err);
}

static int record(struct arguments *arguments)
{
    struct sampling_options *sampling = &arguments->sampling;
    struct capture_options *options = &sampling->capture;
    struct error err = {0};
    if (arguments->placement && (sampling->assign || sampling->homes))
        option_complain("placement", "together with --assign or --homes", "it sets both already");
    if (arguments->of_faults && !options->faults)
        option_complain(arguments->of_faults, "without faults", "this is for --source faults or --faults");
    if (options->stop_ns && options->stop_ns <= options->start_ns)
        option_complain("stop-after", "not behind --start-after", "samples must begin before they end");
    if (options->keep && !options->rotate_ns)
        refuse("--keep", "without --rotate", "there is one file then");
    struct stat found;
    if (options->rotate_ns && options->output && stat(options->output, &found) == 0 && !S_ISREG(found.st_mode))
        option_refuse("-o '%.60s': files of --rotate are named after it, and it is no file", options->output);
    if (options->output && strcmp(options->output, "-") == 0)
        option_refuse("-o '-': a recording has an index and is no stream: name a file");
    check_system(arguments);
    bool of_query = process_query_given(&options->query);
    if (!options->system && !options->pid && !of_query && (!options->command || !*options->command))
        option_refuse("a program to run is missing: numalens record -- ./app");
    if (of_query && !(options->pid = processes_busiest(&options->query, &err)))
        return command_failed("record", &err);
    name_output(arguments);
    struct topology *topology = topology_of(arguments, &err);
    if (!topology) {
        command_failed("record", &err);
        return sampling->spec ? EXIT_USAGE : EXIT_FAILED;
    }
    struct placement placement;
    if (arguments->placement) {
        if (place(arguments, topology, &placement, &err) < 0) {
            topology_free(topology);
            return command_failed("record", &err);
        }
        options->placement = topology->simulated ? NULL : &placement;
    }
    if (strchr(options->output, '/') && arguments->rank.in_job && job_rank_make_folder(options->output, &err) < 0) {
        topology_free(topology);
        return command_failed("record", &err);
    }
    options->topology = topology;
    options->custom = arguments->custom.items;
    options->custom_count = arguments->custom.count;
    char *calibration = know_latencies(arguments, topology);
    options->calibration = calibration;
    char *machine = machine_text(arguments->model);
    options->machine = machine ? arguments->machine : NULL;
    options->machine_model = machine;
    options->restrict_self = true;
    choose_way(arguments);
    struct recorder_result result;
    int code = outside(options) ? system_recorder_run(options, &result, &err) : recorder_run(options, &result, &err);
    free(calibration);
    free(machine);
    topology_free(topology);
    if (code < 0) {
        command_failed("record", &err);
        return result.exit_status;
    }
    if (result.write_failure.code)
        fprintf(stderr, "numalens record: %s is not whole: %s\n", options->output, result.write_failure.text);
    if (wants_summary(arguments, &result))
        summarise(arguments, &result);
    if (result.signal) {
        fflush(NULL);
        signals_die_of(result.signal);
    }
    return result.exit_status;
}

int cmd_record(int argc, char **argv)
{
    struct arguments arguments = {0};
    sampling_options_init(&arguments.sampling);
    argp_parse(&parser, argc, argv, ARGP_IN_ORDER, NULL, &arguments);
    int status = find_machine(&arguments);
    sampling_options_check(&arguments.sampling);
    if (!status)
        status = record(&arguments);
    free(arguments.output);
    model_free(arguments.model);
    return status;
}
