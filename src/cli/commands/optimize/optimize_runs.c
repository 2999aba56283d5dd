#include "cli/commands/optimize/optimize_runs.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static int complain_metric(const char *text, const char *at, int length, struct error *err)
{
    unsigned line = 1;
    for (const char *before = text; before < at; before++)
        line += *before == '\n';
    return error_set(err, -EINVAL,
                     "--metric wants a number above 0, and the program printed '%.*s' in line %u of its output", length,
                     at, line);
}

/* The last match's first group, or all of it, as a number: all of its letters but blanks around them. */
static int find_metric(const struct trials *trials, int out, double *metric, struct error *err)
{
    off_t size = lseek(out, 0, SEEK_END);
    char *text = mem_zalloc((size_t)(size > 0 ? size : 0) + 1);
    regmatch_t groups[2];
    const char *figure = NULL;
    int length = 0, code = 0;
    if (size > 0 && pread(out, text, (size_t)size, 0) != size)
        text[0] = '\0';
    for (const char *at = text; regexec(trials->metric, at, 2, groups, at == text ? 0 : REG_NOTBOL) == 0;) {
        const regmatch_t *group = groups[1].rm_so >= 0 ? &groups[1] : &groups[0];
        figure = at + group->rm_so;
        length = (int)(group->rm_eo - group->rm_so);
        at += groups[0].rm_eo > 0 ? groups[0].rm_eo : 1;
        if (!*at)
            break;
    }
    if (figure) {
        char *word = mem_format("%.*s", length, figure), *end;
        *metric = strtod(word, &end);
        bool whole = end != word && end[strspn(end, " \t")] == '\0';
        /* Its reciprocal is a cost: that of a subnormal number would be infinite. */
        if (!whole || !isnormal(*metric) || *metric < 0)
            code = complain_metric(text, figure, length, err);
        free(word);
    } else {
        code = error_set(err, -ENOENT, "the program printed nothing where --metric looks for a number");
    }
    free(text);
    return code;
}

static int judge_end(const struct trials *trials, const struct trial *trial, int status, int *exit_status,
                     struct error *err)
{
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return 0;
    *exit_status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    return error_set(err, -ECANCELED, "%s, run %zu: the program %s %d; there is nothing to compare",
                     trial->candidate.name, trials->runs.count + 1,
                     WIFSIGNALED(status) ? "was killed by signal" : "ended with status",
                     WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
}

static int start(struct trials *trials, const struct trial *trial, char **command, const char *agent, int out,
                 int *status, double *seconds, struct error *err)
{
    const struct candidate *candidate = &trial->candidate;
    int code = candidate_run(candidate, &trials->child, candidate->as_is ? NULL : &candidate->placement, command, agent,
                             out, status, seconds, err);
    trials->interrupted |= code == -EINTR;
    return code;
}

static int run_once(struct trials *trials, const struct trial *trial, double *cost, int *exit_status, struct error *err)
{
    struct trial_run run = {.name = trial->candidate.name, .metric = NAN, .trial = trial};
    int status = 0;
    int out = trials->metric ? memfd_create("numalens-output", MFD_CLOEXEC) : open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (out < 0)
        return error_set(err, -errno, "cannot keep what the program prints: %s", strerror(errno));
    int code = start(trials, trial, trials->command, trials->agent, out, &status, &run.time_s, err);
    if (code == 0)
        code = judge_end(trials, trial, status, exit_status, err);
    if (code == 0 && trials->metric)
        code = find_metric(trials, out, &run.metric, err);
    close(out);
    if (code < 0)
        return code;
    *cost = !trials->metric ? run.time_s : trials->less_is_better ? run.metric : 1 / run.metric;
    array_push(&trials->runs, run);
    return 0;
}

int trials_compare(struct trials *trials, struct trial *trial, int *exit_status, struct error *err)
{
    trial->answer = PAIRED_OPEN;
    while (trial->answer == PAIRED_OPEN) {
        const struct trial *order[] = {&trials->standard, trial};
        bool swapped = trial->pairs.count % 2;
        double costs[2];
        for (unsigned i = 0; i < 2; i++) {
            unsigned which = swapped ? 1 - i : i;
            int code = run_once(trials, order[which], &costs[which], exit_status, err);
            if (code < 0)
                return code;
        }
        paired_add(&trial->pairs, costs[0], costs[1]);
        trial->gain = paired_ratio(&trial->pairs, 0.05);
        trial->answer = paired_answer(&trial->pairs, trials->most, trials->chance / trial->sharing, TRIAL_LEAST);
        if (!trials->quiet)
            fprintf(stderr,
                    "numalens optimize: %s: pair %u of at most %u: %.3f times as fast as the default placement\n",
                    trial->candidate.name, trial->pairs.count, trials->most, trial->gain.factor);
    }
    return 0;
}

int trials_record(struct trials *trials, const struct trial *trial, const char *path, int *exit_status,
                  struct error *err)
{
    array_of(char *) words = {0};
    char *first[] = {"/proc/self/exe", "record", "-q", "-o", (char *)path, "--"};
    for (unsigned i = 0; i < sizeof first / sizeof *first; i++)
        array_push(&words, first[i]);
    for (char **word = trials->command; *word; word++)
        array_push(&words, *word);
    array_push(&words, NULL);
    int status = 0, out = open("/dev/null", O_WRONLY | O_CLOEXEC);
    int code = out < 0 ? error_set(err, -errno, "cannot open /dev/null: %s", strerror(errno))
                       : start(trials, trial, words.items, NULL, out, &status, NULL, err);
    if (code == 0)
        code = judge_end(trials, trial, status, exit_status, err);
    if (out >= 0)
        close(out);
    array_free(&words);
    return code;
}
