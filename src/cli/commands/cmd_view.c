/* cli/commands/cmd_view.c - numalens view: the page of a recording in a browser, with all of the trace behind it. */
#include "base/sandbox.h"
#include "cli/command.h"

#include "cli/browser.h"
#include "cli/machine_option.h"
#include "cli/progress_line.h"
#include "cli/input/recording.h"
#include "cli/symfs.h"
#include "cli/usage/option_value.h"
#include "serve/site.h"

#include <argp.h>
#include <signal.h>
#include <stdio.h>

static const char description[] =
    "Shows a recording in a browser: the page of 'numalens report --html', and where one zooms in further than it has "
    "data, more of it out of the trace.\v" INPUT_HELP " Served on this machine only, under an "
    "address that cannot be guessed, until Ctrl-C. No browser is opened where neither DISPLAY nor WAYLAND_DISPLAY is "
    "set.\n\n"
    "EXAMPLES\n"
    "  numalens view\n"
    "  numalens view other.data --no-open\n"
    "  numalens view --port 8000 --no-open      for ssh -L 8000:127.0.0.1:8000\n\n"
    "The exit status is 0; 1 when the recording cannot be read or the port is taken; 2 for wrong usage.";

enum { OPTION_NO_OPEN = 1 };

static const struct argp_option option_table[] = {
    {"port", 'p', "N", 0, "Listen on this port; 0, the default: any that is free", 0},
    {"no-open", OPTION_NO_OPEN, NULL, 0, "Open no browser", 0},
    {0},
};

struct arguments {
    struct input input;
    struct machine_options machine;
    const char *symfs;
    uint16_t port;
    bool no_open;
};

static const struct option_value values[] = {
    OPTION_NUMBER('p', struct arguments, port, 0, 65535),
    OPTION_FLAG(OPTION_NO_OPEN, struct arguments, no_open),
    {0},
};

static error_t parse_option(int key, char *value, struct argp_state *state)
{
    struct arguments *arguments = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &arguments->machine.topology;
        state->child_inputs[1] = &arguments->symfs;
        state->child_inputs[2] = &arguments->input;
        break;
    default:
        return option_value_take(values, option_table, key, value, state);
    }
    return 0;
}

/* From when the address is known: they come while it is served (server_run), and the browser's file is removed. */
static void hold_signals(void)
{
    sigset_t held;
    sigemptyset(&held);
    sigaddset(&held, SIGINT);
    sigaddset(&held, SIGTERM);
    sigprocmask(SIG_BLOCK, &held, NULL);
}

static int serve(const struct arguments *arguments, const struct recording *recording, const struct model *machine,
                 struct error *err)
{
    struct view_options view = {
        .path = recording->path, .ending = recording->ending, .damage = recording->damage, .machine = machine};
    struct page_run run = {.flow = recording->flow, .view = &view, .label = recording->path, .live = true};
    struct server *server = server_open(arguments->port, err);
    struct site *site = server ? site_new(&run, err) : NULL;
    int failed = -1;
    progress_line_end();
    if (site) {
        hold_signals();
        printf("%s\nServed until Ctrl-C.\n", server_address(server));
        fflush(stdout);
        struct browser *browser = arguments->no_open ? NULL : browser_open(server_address(server));
        sandbox_enter(SANDBOX_SERVER);
        failed = server_run(server, site_answer, site, err);
        browser_close(browser);
    }
    site_free(site);
    server_close(server);
    return failed;
}

static int view(struct arguments *arguments, const struct machine_choice *machine, struct error *err)
{
    struct recording recording;
    struct flow_options options = {.topology = machine->topology, .symfs = arguments->symfs};
    if (page_is_missing(err) < 0 || recording_open(&recording, "view", &arguments->input, &options, NULL, err) < 0)
        return -1;
    int failed = serve(arguments, &recording, machine->model, err);
    recording_close(&recording);
    return failed;
}

int cmd_view(int argc, char **argv)
{
    struct arguments arguments = {0};
    const struct argp_child children[] = {
        {&topology_argp, 0, NULL, 0}, {&symfs_argp, 0, NULL, 0}, {&input_argp, 0, NULL, 0}, {0}};
    struct argp argp = {option_table, parse_option, "[FILE...]", description, children, NULL, NULL};
    struct machine_choice machine;
    struct error err = {0};
    argp_parse(&argp, argc, argv, 0, NULL, &arguments);
    int status = EXIT_OK;
    if (input_find(&arguments.input, &err) < 0) {
        status = command_failed("view", &err);
    } else if (machine_choose(&machine, &arguments.machine, arguments.input.path, &err) < 0) {
        command_failed("view", &err);
        status = EXIT_USAGE;
    } else {
        progress_line_begin("view", false, false);
        if (view(&arguments, &machine, &err))
            status = command_failed("view", &err);
        machine_choice_free(&machine);
    }
    input_free(&arguments.input);
    return status;
}
