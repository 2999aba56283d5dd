/* cli/commands/cmd_top.c - numalens top: running processes, live. */
#include "cli/command.h"
#include "cli/usage/command_options.h"

#include "base/replace.h"
#include "base/sandbox.h"
#include "capture/process/find_processes.h"
#include "capture/process/proc.h"
#include "cli/sampling_options.h"
#include "cli/terminal.h"
#include "cli/top/top_feed.h"
#include "cli/top/top_screen.h"
#include "cli/usage/option_value.h"
#include "trace/session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    KEY_NAME = 256,
    KEY_CGROUP,
    KEY_CONTAINER,
    KEY_JSON,
    KEY_METRICS,
    KEY_LIMIT,
    TEXT_ROWS = 10,
    LEAST_PPM = 16000,
    FIRST_NS = 250000000
};

static const struct argp_option option_table[] = {
    {"pid", 'p', "PID[,PID]", 0, "these processes and their children; else the one that uses most CPU time", 1},
    {"name", KEY_NAME, "NAME", 0, "the processes that are called so; also with one of the next two", 1},
    {"cgroup", KEY_CGROUP, "PATH", 0, "the processes of this cgroup, such as /system.slice/redis.service", 1},
    {"container", KEY_CONTAINER, "ID", 0, "the processes of this container, on its host", 1},
    {"interval", 'd', "SECONDS", 0, "between refreshes (1)", 1},
    {"batch", 'b', 0, 0, "print tables, one set a refresh, instead of a screen", 1},
    {"count", 'n', "N", 0, "end after N refreshes of --batch", 1},
    {"limit", KEY_LIMIT, "N", 0, "rows of a table with --batch; 0 for all (10 as text, all with --json)", 1},
    {"json", KEY_JSON, 0, 0, "with --batch: one JSON object a line and refresh", 1},
    {"openmetrics", KEY_METRICS, "FILE", OPTION_ARG_OPTIONAL,
     "with --batch: a page for Prometheus, on standard output or as FILE, which is replaced whole at each refresh", 1},
    {0},
};

struct top_command {
    struct sampling_options sampling;
    struct view_options view;
    bool batch, metrics;
    const char *metrics_file;
    uint64_t count; /* 0: without end */
    char name[32];
};

static const struct option_value values[] = {
    OPTION_TEXT(KEY_NAME, struct top_command, sampling.capture.query.name),
    OPTION_FLAG('b', struct top_command, batch),
    OPTION_NUMBER('n', struct top_command, count, 1, 1000000000),
    OPTION_NUMBER(KEY_LIMIT, struct top_command, view.limit, 0, 1000000000),
    OPTION_FLAG(KEY_JSON, struct top_command, view.json),
    {0},
};

static volatile sig_atomic_t stopped; /* written by stop() alone */

static void stop(int number)
{
    (void)number;
    stopped = 1;
}

static error_t parse(int key, char *text, struct argp_state *state)
{
    struct top_command *command = state->input;
    struct sampling_options *sampling = &command->sampling;
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
    case 'd':
        sampling->capture.rotate_ns = (uint64_t)(1e9 * option_number("interval", text, 0.1, 3600));
        break;
    case KEY_METRICS:
        command->metrics = true;
        command->metrics_file = text;
        break;
    default:
        return sampling_options_parse(sampling, values, option_table, key, text, state);
    }
    return 0;
}

static const struct argp parser = {
    option_table,
    parse,
    "",
    "Shows what running processes access, refreshed each second: which part is remote, by process, thread, object, "
    "site, function and node. Nothing is put into them: without a PMU " SESSION_NOT_OUTSIDE
    " are not known (docs/outside.md).\vOn the screen, ? lists the keys, q "
    "ends.\n\n"
    "EXAMPLES\n"
    "  numalens top\n"
    "  numalens top -p 1234\n"
    "  numalens top --name redis-server --batch -n 5\n"
    "  numalens top --cgroup /system.slice/redis.service --batch --json\n"
    "  numalens top -p 1234 --batch --openmetrics=/var/lib/node_exporter/numalens.prom\n",
    sampling_children,
    NULL,
    NULL,
};

struct page {
    const struct flow *flow;
    const struct view_refresh *refresh;
    const struct view_options *view;
};

static int write_metrics(FILE *out, const void *context, struct error *err)
{
    const struct page *page = context;
    return view_metrics(page->flow, page->refresh, page->view, out, err);
}

static int print_refresh(const struct top_command *command, const struct flow *flow, struct error *err)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    struct view_refresh refresh = {.time = (double)now.tv_sec + (double)now.tv_nsec * 1e-9,
                                   .pid = command->sampling.capture.pid,
                                   .name = command->name};
    struct page page = {flow, &refresh, &command->view};
    if (command->metrics_file)
        return replace_file(command->metrics_file, REPLACE_BY_UMASK, write_metrics, &page, err);
    return command->metrics ? write_metrics(stdout, &page, err)
                            : view_refresh(flow, &refresh, &command->view, stdout, err);
}

static int batch(const struct top_command *command, struct top_feed *feed, const sigset_t *mask, struct error *err)
{
    for (uint64_t done = 0; !stopped && (!command->count || done < command->count);) {
        int code = top_feed_next(feed, true, err);
        if (code == 0)
            top_feed_wait(feed, -1, mask);
        else if (code < 0 || (code = print_refresh(command, top_feed_flow(feed), err)) < 0)
            return code == -ENODATA && done ? 0 : code;
        else
            done++;
    }
    return 0;
}

/* Signals come while it waits, and at no other time. */
static void take_signals(sigset_t *mask)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    sigset_t blocked;
    sigemptyset(&blocked);
    for (unsigned i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        sigaddset(&blocked, numbers[i]);
        sigaction(numbers[i], &(struct sigaction){.sa_handler = stop}, NULL);
    }
    sigprocmask(SIG_BLOCK, &blocked, mask);
}

static int run(struct top_command *command, struct top_feed *feed, sigset_t *mask, struct error *err)
{
    if (command->batch)
        return batch(command, feed, mask, err);
#ifdef NUMALENS_NCURSES
    struct top_shown shown = {&command->view, command->name, command->sampling.capture.pid, mask, &stopped};
    return top_screen(feed, &shown, err);
#else
    return error_set(err, -ENOTSUP, "numalens was built without ncurses");
#endif
}

static int look(struct top_command *command, const struct topology *simulated, struct error *err)
{
    struct capture_options *capture = &command->sampling.capture;
    sigset_t mask;
    struct top_feed *feed = top_feed_start(capture, simulated, err);
    if (!feed)
        return err->code;
    take_signals(&mask);
    sandbox_enter(SANDBOX_READER);
    int code = run(command, feed, &mask, err);
    top_feed_stop(feed);
    return code;
}

static void check_options(struct top_command *command)
{
    struct sampling_options *sampling = &command->sampling;
    const struct process_query *query = &sampling->capture.query;
    enum capture_samples samples = sampling->capture.samples;
    bool printed = command->view.json || command->metrics || command->count;
    if (sampling->capture.command)
        option_refuse("top '%s': a process that runs is looked at: -p PID", *sampling->capture.command);
    if (samples == SAMPLES_SOFT || samples == SAMPLES_FAULTS || samples == SAMPLES_NONE)
        option_complain("source", "this one", "of running processes there are outside, pebs, ibs, spe");
    if ((sampling->capture.pid && process_query_given(query)) || (query->cgroup && query->container))
        option_complain("pid", "with another choice", "one of -p, --name, --cgroup, --container is wanted");
    if (printed && !command->batch)
        option_complain(command->view.json ? "json"
                        : command->metrics ? "openmetrics"
                                           : "count",
                        "without --batch", "add --batch");
    if (command->view.json && command->metrics)
        option_complain("json", "with --openmetrics", "only one of both is possible");
}

/* What must be there for a screen, or why there is none. */
static int check_screen(struct error *err)
{
#ifndef NUMALENS_NCURSES
    return error_set(err, -ENOTSUP,
                     "numalens was built without ncurses; install libncurses-dev and build again, or use --batch");
#endif
    const char *term = getenv("TERM");
    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO) || !term || strcmp(term, "dumb") == 0)
        return error_set(err, -ENOTTY, "there is no terminal to draw on: use --batch");
    return 0;
}

static int find_process(struct top_command *command, struct error *err)
{
    struct capture_options *capture = &command->sampling.capture;
    if (!capture->pid && !(capture->pid = processes_busiest(&capture->query, err)))
        return err->code;
    proc_thread_name(capture->pid, capture->pid, command->name);
    return 0;
}

int cmd_top(int argc, char **argv)
{
    struct top_command command = {.view = {.limit = SIZE_MAX, .filter = {.kind = -1}}};
    struct sampling_options *sampling = &command.sampling;
    struct error err = {0};
    sampling_options_init(sampling);
    sampling->capture.rotate_ns = 1000000000;
    sampling->capture.rotate_first_ns = FIRST_NS;
    sampling->capture.budget_ppm = 0;
    sampling->capture.budget_least_ppm = LEAST_PPM;
    argp_parse(&parser, argc, argv, ARGP_IN_ORDER, NULL, &command);
    sampling_options_check(sampling);
    check_options(&command);
    terminal_look(&(struct terminal_options){.view = &command.view});
    if (command.view.limit == SIZE_MAX)
        command.view.limit = command.view.json || command.metrics ? 0 : TEXT_ROWS;
    command.view.filter.min_samples = command.batch;
    struct topology *simulated = sampling->spec ? sampling_options_topology(sampling, &err) : NULL;
    if (sampling->spec && !simulated) {
        command_failed("top", &err);
        return EXIT_USAGE;
    }
    struct topology *real = topology_load(&err);
    sampling->capture.topology = real;
    int code = !real ? err.code : command.batch ? 0 : check_screen(&err);
    if (code == 0 && (code = find_process(&command, &err)) == 0)
        code = look(&command, simulated, &err);
    topology_free(real);
    topology_free(simulated);
    return code < 0 ? command_failed("top", &err) : EXIT_OK;
}
