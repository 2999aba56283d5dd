#include "cli/commands/compare/compare_runs.h"

#include "cli/command.h"
#include "cli/commands/compare/compare_child.h"
#include "cli/commands/compare/compare_output.h"
#include "cli/input/recording.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

struct work {
    const struct compare_runs_options *options;
    struct compare_runs *runs;
    struct compare_child child;
    struct compare_output output;
    char *folder; /* of recordings */
    unsigned done, all;
};

/* What became of the program: 0, or negative with `err` and the exit status that says so. */
static int judge_end(int status, const char *what, bool recorded, int *exit_status, struct error *err)
{
    if (WIFSIGNALED(status)) {
        *exit_status = 128 + WTERMSIG(status);
        return error_set(err, -EINTR, "%s: the program was killed by signal %d (%s); the comparison ends here", what,
                         WTERMSIG(status), strsignal(WTERMSIG(status)));
    }
    *exit_status = WEXITSTATUS(status);
    if (WEXITSTATUS(status) == 0)
        return 0;
    return recorded ? error_set(err, -ECANCELED,
                                "%s: the program ended with status %d; the comparison ends here (sh -c './app || true' "
                                "for one that always does)",
                                what, WEXITSTATUS(status))
                    : error_set(err, -ECANCELED, "%s: the program could not be run; the comparison ends here", what);
}

static int take_figures(struct work *work, const char *path, struct figures *figures, struct error *err)
{
    struct recording recording;
    struct input input = {0};
    input_add(&input, path);
    int failed = input_find(&input, err);
    if (failed == 0)
        failed = recording_open(&recording, "compare", &input, &(struct flow_options){0}, NULL, err);
    if (failed < 0) {
        input_free(&input);
        return failed;
    }
    failed = figures_take(figures, recording.flow, &work->options->figures, err);
    snprintf(work->runs->unit, sizeof work->runs->unit, "%s", accesses_unit(recording.flow));
    if (recording.ending)
        figures->recorded_s = (double)trace_session_number(recording.ending, "duration_ns", 0) * 1e-9;
    recording_close(&recording);
    input_free(&input);
    return failed;
}

static char **record_command(const struct work *work, const struct candidate *candidate, const char *path)
{
    const struct compare_runs_options *options = work->options;
    array_of(char *) words = {0};
    char *first[] = {"/proc/self/exe", "record", "-q", "--placement", candidate->name};
    for (unsigned i = 0; i < (candidate->as_is ? 3 : sizeof first / sizeof *first); i++)
        array_push(&words, first[i]);
    if (options->topology) {
        array_push(&words, "--topology");
        array_push(&words, (char *)options->topology);
    }
    for (unsigned i = 0; i < options->record_option_count; i++)
        array_push(&words, options->record_options[i]);
    array_push(&words, "-o");
    array_push(&words, (char *)path);
    array_push(&words, "--");
    for (char **word = options->command; *word; word++)
        array_push(&words, *word);
    array_push(&words, NULL);
    return words.items;
}

/* One start of the program, recorded or not, with its output looked at. */
static int start(struct work *work, const struct candidate *candidate, const char *what, const char *trace,
                 double *seconds, int *exit_status, struct error *err)
{
    char **command = trace ? record_command(work, candidate, trace) : work->options->command;
    int status = 0, out = compare_output_begin(&work->output, err);
    bool placed = !trace && !work->options->topology && !candidate->as_is;
    int code = out < 0 ? out
                       : candidate_run(candidate, &work->child, placed ? &candidate->placement : NULL, command,
                                       trace ? NULL : work->options->agent, out, &status, seconds, err);
    if (trace)
        free(command);
    if (code < 0) {
        *exit_status = EXIT_FAILED;
        return code;
    }
    struct stat unused;
    code = judge_end(status, what, !trace || stat(trace, &unused) == 0, exit_status, err);
    if (code == 0 && (code = compare_output_end(&work->output, what, err)) < 0)
        *exit_status = EXIT_FAILED;
    return code;
}

static int run_once(struct work *work, uint32_t item, uint32_t repetition, int *exit_status, struct error *err)
{
    const struct candidate *candidate = &work->runs->candidates[item];
    const char *name = candidate->name;
    struct figures figures = {.plain_s = -1};
    char what[320];
    snprintf(what, sizeof what, "%s, run %u", name, repetition + 1);
    if (!work->options->quiet)
        fprintf(stderr, "numalens compare: run %u of %u: %s\n", ++work->done, work->all, name);
    int code = 0;
    if (work->options->plain)
        code = start(work, candidate, what, NULL, &figures.plain_s, exit_status, err);
    if (code < 0)
        return code;
    char *trace = mem_format("%s/%s-%u.data", work->folder, name, repetition + 1);
    code = start(work, candidate, what, trace, NULL, exit_status, err);
    if (code == 0 && (code = take_figures(work, trace, &figures, err)) < 0)
        *exit_status = EXIT_FAILED;
    if (code == 0)
        array_push(&work->runs->items[item].runs, figures);
    if (!work->options->keep)
        unlink(trace);
    free(trace);
    return code;
}

static int run_all(struct work *work, int *exit_status, struct error *err)
{
    uint32_t *possible = mem_alloc((work->runs->count + 1ul) * sizeof *possible), count = 0;
    for (uint32_t i = 0; i < work->runs->count; i++)
        if (work->runs->items[i].placement.possible)
            possible[count++] = i;
    work->all = count * work->options->repeat;
    int code = 0;
    for (uint32_t repetition = 0; repetition < work->options->repeat && code == 0; repetition++)
        for (uint32_t position = 0; position < count && code == 0; position++)
            code = run_once(work, possible[placement_at(repetition, position, count)], repetition, exit_status, err);
    free(possible);
    return code;
}

static int make_folder(struct work *work, struct error *err)
{
    const char *keep = work->options->keep, *where = getenv("TMPDIR");
    work->folder = keep ? mem_strdup(keep) : mem_format("%s/numalens-compare-XXXXXX", where && *where ? where : "/tmp");
    if (keep ? mkdir(work->folder, 0700) < 0 && errno != EEXIST : !mkdtemp(work->folder))
        return error_set(err, -errno, "cannot make the folder %s for the recordings: %s", work->folder,
                         strerror(errno));
    return 0;
}

int compare_runs_make(struct compare_runs *runs, const struct compare_runs_options *options, int *exit_status,
                      int *signal, struct error *err)
{
    struct work work = {.options = options, .runs = runs};
    *exit_status = EXIT_FAILED;
    *signal = 0;
    strcpy(runs->unit, "ns");
    int code = make_folder(&work, err);
    if (code < 0) {
        free(work.folder);
        return code;
    }
    code = compare_output_open(&work.output, options->same_output, work.folder, err);
    if (code == 0 && (code = compare_child_open(&work.child, true, err)) == 0)
        code = run_all(&work, exit_status, err);
    *signal = compare_child_close(&work.child);
    compare_output_close(&work.output);
    if (!options->keep)
        rmdir(work.folder);
    free(work.folder);
    return code;
}

void compare_runs_free(struct compare_runs *runs)
{
    for (uint32_t i = 0; i < runs->count; i++) {
        array_free(&runs->items[i].runs);
        candidate_free(&runs->candidates[i]);
    }
    free(runs->items);
    free(runs->candidates);
}
