/* cli/commands/cmd_check.c - numalens check: whether a recording keeps the rules that a job demands. */
#include "cli/command.h"

#include "base/replace.h"
#include "cli/progress_line.h"
#include "cli/input/recording.h"
#include "cli/symfs.h"
#include "cli/terminal.h"
#include "cli/topology_options.h"
#include "cli/usage/option_value.h"
#include "predict/first_line.h"
#include "view/check/check_view.h"

#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char description[] =
    "Checks whether a recording keeps rules, for jobs that pass or fail.\vA rule holds, "
    "fails, or cannot be decided: then the "
    "recording has too few bursts, and the command that records enough is printed. " INPUT_HELP "\n\n"
    "EXAMPLES\n"
    "  numalens check --not-slowed\n"
    "  numalens check --max-remote 20% --max-cost 5%\n"
    "  numalens check --no-findings app.data\n"
    "  numalens check --no-new-findings main.data branch.data\n"
    "  numalens check --max-remote 20% --junit numa.xml --sarif numa.sarif app.data\n"
    "  numalens check --max-remote 20% --topology \"numa:4 core:2\" app.data\n\n"
    "The exit status is 0 when all rules hold; 1 when one fails or cannot be decided, or "
    "the recording cannot be read; 2 for "
    "wrong usage.\n";

enum {
    KEY_MAX_REMOTE = 256,
    KEY_MAX_COST,
    KEY_NOT_SLOWED,
    KEY_NO_FINDINGS,
    KEY_NO_NEW_FINDINGS,
    KEY_JUNIT,
    KEY_SARIF,
    KEY_SOURCE_ROOT,
};

static const struct argp_option option_table[] = {
    {0, 0, 0, 0, "Rules, one at least:", 1},
    {"max-remote", KEY_MAX_REMOTE, "SHARE", 0, "At most this part of the accesses is remote: 20%", 1},
    {"max-cost", KEY_MAX_COST, "SHARE", 0, "Remote memory costs at most this part of run time: 5%", 1},
    {"not-slowed", KEY_NOT_SLOWED, 0, 0,
     "NUMA is not what slows the program: what the first line of 'numalens report' says, of latency and bandwidth", 1},
    {"no-findings", KEY_NO_FINDINGS, 0, 0, "No NUMA problem is found", 1},
    {"no-new-findings", KEY_NO_NEW_FINDINGS, "BASE", 0,
     "No NUMA problem is found that the recording BASE has not; what did not change significantly is not new; given "
     "again for several files of one recording",
     1},
    {0, 0, 0, 0, "Output:", 2},
    {"junit", KEY_JUNIT, "FILE", 0, "Also write a JUnit report: one test case per rule; - for standard output", 2},
    {"sarif", KEY_SARIF, "FILE", 0,
     "Also write SARIF 2.1.0: findings at the lines that allocate; - for standard output", 2},
    {"source-root", KEY_SOURCE_ROOT, "DIR", 0,
     "SARIF: source files below it get relative names (the top of the git repository, else the current folder)", 2},
    {"quiet", 'q', 0, 0, "Print nothing when all rules hold", 2},
    {0},
};

struct arguments {
    struct input input, before;
    const char *junit, *sarif, *root, *symfs;
    struct topology_options topology;
    bool quiet;
    struct view_options view;
    struct terminal_options terminal;
    struct check_request request;
};

static void parse_limit(struct argp_state *state, struct arguments *arguments, enum check_kind kind, const char *text)
{
    char *end;
    double value = strtod(text, &end);
    if (end == text || strcmp(end, "%") != 0)
        argp_error(state, "--%s: '%s' is no share; write 20%%", check_kind_name(kind), text);
    if (!(value >= 0.1 && value <= 99.9))
        argp_error(state, "--%s: '%s' is not between 0.1%% and 99.9%%: no number of samples decides it",
                   check_kind_name(kind), text);
    arguments->request.wanted[kind] = true;
    arguments->request.limits[kind] = value / 100;
}

static const struct option_value values[] = {
    OPTION_TEXT(KEY_JUNIT, struct arguments, junit),
    OPTION_TEXT(KEY_SARIF, struct arguments, sarif),
    OPTION_TEXT(KEY_SOURCE_ROOT, struct arguments, root),
    OPTION_FLAG('q', struct arguments, quiet),
    OPTION_FLAG(KEY_NOT_SLOWED, struct arguments, request.wanted[CHECK_NOT_SLOWED]),
    OPTION_FLAG(KEY_NO_FINDINGS, struct arguments, request.wanted[CHECK_NO_FINDINGS]),
    {0},
};

static error_t parse_option(int key, char *value, struct argp_state *state)
{
    struct arguments *arguments = state->input;
    struct check_request *request = &arguments->request;
    switch (key) {
    case KEY_MAX_REMOTE:
        parse_limit(state, arguments, CHECK_MAX_REMOTE, value);
        break;
    case KEY_MAX_COST:
        parse_limit(state, arguments, CHECK_MAX_COST, value);
        break;
    case KEY_NO_NEW_FINDINGS:
        request->wanted[CHECK_NO_NEW_FINDINGS] = true;
        input_parse(&arguments->before, state, value);
        break;
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &arguments->topology;
        state->child_inputs[1] = &arguments->symfs;
        state->child_inputs[2] = &arguments->input;
        state->child_inputs[3] = &arguments->terminal;
        break;
    default:
        return option_value_take(values, option_table, key, value, state);
    }
    return 0;
}

static bool is_stdout(const char *path)
{
    return path && strcmp(path, "-") == 0;
}

static int understand(struct arguments *arguments, struct error *err)
{
    bool any = false;
    for (unsigned kind = 0; kind < CHECK_KINDS; kind++)
        any |= arguments->request.wanted[kind];
    if (!any)
        return error_set(err, -EINVAL,
                         "a rule is missing: --not-slowed, --max-remote 20%%, --max-cost 5%%, --no-findings or "
                         "--no-new-findings BASE");
    if (arguments->view.json + is_stdout(arguments->junit) + is_stdout(arguments->sarif) > 1)
        return error_set(err, -EINVAL, "only one of --json, --junit - and --sarif - can be on standard output");
    return 0;
}

/* The top of the repository that this folder is in, else the folder; the caller frees it. */
static char *source_root(const char *wanted, struct error *err)
{
    char *here = realpath(wanted ? wanted : ".", NULL);
    if (!here) {
        error_set(err, -errno, "%s: %s", wanted ? wanted : "the current folder", strerror(errno));
        return NULL;
    }
    if (wanted)
        return here;
    char *folder = mem_strdup(here);
    for (char *slash; (slash = strrchr(folder, '/')); *slash = '\0') {
        char *git = mem_format("%s/.git", folder);
        bool top = access(git, F_OK) == 0;
        free(git);
        if (top) {
            free(here);
            return folder;
        }
    }
    free(folder);
    return here;
}

typedef int write_report(const struct check_shown *shown, FILE *out, struct error *err);

struct report_file {
    write_report *report;
    const struct check_shown *shown;
};

static int fill(FILE *out, const void *context, struct error *err)
{
    const struct report_file *file = context;
    return file->report(file->shown, out, err);
}

static int write_to(const char *path, write_report *report, const struct check_shown *shown, struct error *err)
{
    if (!path)
        return 0;
    if (is_stdout(path))
        return report(shown, stdout, err);
    return replace_file(path, REPLACE_BY_UMASK, fill, &(struct report_file){report, shown}, err);
}

static int write_all(const struct arguments *arguments, const struct check_shown *shown, struct error *err)
{
    bool taken = is_stdout(arguments->junit) || is_stdout(arguments->sarif);
    int failed = write_to(arguments->junit, check_junit, shown, err);
    if (failed == 0)
        failed = write_to(arguments->sarif, check_sarif, shown, err);
    if (failed == 0 && arguments->view.json)
        failed = check_json(shown, &arguments->view, stdout, err);
    else if (failed == 0 && !taken && !(arguments->quiet && shown->check->outcome == CHECK_HOLDS))
        failed = check_text(shown, &arguments->view, stdout, err);
    return failed;
}

/* The other recording, as the flow is not needed any more afterwards. */
static struct profile *read_before(struct input *input, const struct flow_options *options, struct error *err)
{
    struct recording recording;
    if (input_find(input, err) < 0 || recording_open(&recording, "check", input, options, NULL, err) < 0)
        return NULL;
    struct profile *profile = profile_make(recording.flow, input->name, recording.ending, err);
    if (!profile)
        error_prefix(err, "%s", input->name);
    recording_close(&recording);
    return profile;
}

static int judge(struct arguments *arguments, const struct flow_options *options, const char *root)
{
    struct recording recording = {0};
    struct profile *before = NULL, *profile = NULL;
    struct findings *findings = NULL;
    struct check *check = NULL;
    struct error err = {0};
    int status = EXIT_FAILED;
    if (arguments->before.files.count && !(before = read_before(&arguments->before, options, &err)))
        goto cleanup;
    if (input_find(&arguments->input, &err) < 0 ||
        recording_open(&recording, "check", &arguments->input, options, NULL, &err) < 0)
        goto cleanup;
    arguments->view.damage = recording.damage;
    if (!(findings = findings_of(recording.flow, NULL, &err)) ||
        !(profile = profile_make_judged(recording.flow, findings, arguments->input.name, recording.ending, &err))) {
        error_prefix(&err, "%s", arguments->input.name);
        goto cleanup;
    }
    arguments->request.before = before;
    check = check_make(&arguments->request, profile, findings);
    status = check->outcome == CHECK_HOLDS ? EXIT_OK : EXIT_FAILED;
    struct check_shown shown = {.check = check,
                                .findings = findings,
                                .path = arguments->input.name,
                                .before = arguments->before.name,
                                .root = root,
                                .status = status};
    write_all(arguments, &shown, &err);
cleanup:
    if (err.code)
        status = command_failed("check", &err);
    check_free(check);
    profile_free(profile);
    profile_free(before);
    findings_free(findings);
    if (recording.flow)
        recording_close(&recording);
    return status;
}

int cmd_check(int argc, char **argv)
{
    struct arguments arguments = {.view = {.filter = {.kind = -1}}, .terminal = {.view = &arguments.view}};
    const struct argp_child children[] = {{&topology_argp, 0, "Both recordings:", 3},
                                          {&symfs_argp, 0, NULL, 3},
                                          {&input_argp, 0, NULL, 3},
                                          {&terminal_argp, 0, NULL, 2},
                                          {0}};
    struct argp argp = {option_table, parse_option, "[FILE...]", description, children, NULL, NULL};
    struct topology *topology = NULL;
    struct error err = {0};
    argp_parse(&argp, argc, argv, 0, NULL, &arguments);
    char *root = NULL;
    if (understand(&arguments, &err) < 0 || topology_options_make(&arguments.topology, &topology, &err) < 0 ||
        !(root = source_root(arguments.root, &err))) {
        command_failed("check", &err);
        topology_free(topology);
        return EXIT_USAGE;
    }
    terminal_look(&arguments.terminal);
    progress_line_begin("check", arguments.quiet, arguments.view.json);
    int status = judge(&arguments, &(struct flow_options){.topology = topology, .symfs = arguments.symfs}, root);
    free(root);
    topology_free(topology);
    input_free(&arguments.input);
    input_free(&arguments.before);
    return status;
}
