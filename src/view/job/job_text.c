/* view/job/job_text.c - the report of a job for people: who holds the others up, then the ranks, what is wrong on them, and what is
 * not known. */
#include "analysis/thresholds.h"
#include "view/job/job_view.h"

#include "base/order.h"
#include "base/text.h"
#include "base/number.h"
#include "view/paragraph.h"
#include "view/report/report.h"
#include "view/table.h"

#include <string.h>

enum { INDENT = 2, DEEPER = 4, MOST_FINDINGS = 20, MOST_FILES = 10, MOST_HOSTS = 8 };

/* "refined (mpi_stencil.c:57)". The caller frees it. */
static char *place_of(const char *name, const char *file, uint32_t line)
{
    const char *base = text_file_name(file);
    if (*base && line)
        return mem_format("%s (%s:%u)", name, base, line);
    return *base ? mem_format("%s (%s)", name, base) : mem_format("%s", name);
}

static void put_heading(const struct job *job, const struct view_options *options, FILE *out)
{
    array_of(char) hosts = {0};
    for (size_t i = 0; i < job->hosts.count && i < MOST_HOSTS; i++) {
        char *host = mem_format("%s%s", i ? ", " : "", job->hosts.items[i].name);
        for (const char *at = host; *at; at++)
            array_push(&hosts, *at);
        free(host);
    }
    array_push(&hosts, '\0');
    const char *more = job->hosts.count > MOST_HOSTS ? ", ..." : "";
    if (*job->name)
        paragraph(out, 0, options->width, "", "Job %s: %zu of %u ranks on %zu host%s (%s%s): %s", job->name,
                  job->ranks.count, job->size, job->hosts.count, text_plural(job->hosts.count), hosts.items, more,
                  job->command);
    else
        paragraph(out, 0, options->width, "", "A job: %zu of %u ranks on %zu host%s (%s%s): %s", job->ranks.count,
                  job->size, job->hosts.count, text_plural(job->hosts.count), hosts.items, more, job->command);
    array_free(&hosts);
}

static void put_object(const struct job *job, const struct view_options *options, FILE *out)
{
    const struct rank_object *object = job->object;
    if (!object) {
        paragraph(out, INDENT, options->width, "", "No single object has the difference.");
        return;
    }
    char *place = place_of(object->name, object->file, object->line);
    double part = (job->object_work - job->object_others_work) / (job->work - job->others_work);
    char *share = part > 0.5 ? mem_strdup("Most") : mem_format("%.0f%%", 100 * part);
    paragraph(out, INDENT, options->width, "",
              "%s of the difference is at %s: %s on rank %u, %s on the others on average.%s%s%s", share, place,
              number_seconds(job->object_work), job->slowest->rank, number_seconds(job->object_others_work),
              object->home_known ? " Remote are " : "",
              object->home_known ? number_percent(object->remote, object->home_known) : "",
              object->home_known ? " of its accesses there." : "");
    free(share);
    free(place);
}

static void put_balance(const struct job *job, const struct view_options *options, FILE *out)
{
    switch (job->balance) {
    case JOB_ONE_RANK:
        paragraph(out, INDENT, options->width, "", "There is one rank, and nothing to compare it with.");
        break;
    case JOB_UNKNOWN:
        paragraph(out, INDENT, options->width, "",
                  "Whether ranks wait for each other is not known: some have no samples, or their files end early.");
        break;
    case JOB_EVEN:
        paragraph(out, INDENT, options->width, "",
                  "The ranks have the same work, within %.0f%%: %s of CPU time outside of MPI on average.",
                  100 * thresholds.part, number_seconds(job->others_work));
        break;
    case JOB_UNDECIDED:
        paragraph(
            out, INDENT, options->width, "",
            "Rank %u has %.0f%% more work than the average, which may be chance: it has %s bursts. Record longer.",
            job->slowest->rank, 100 * job->imbalance, number_count(job->slowest->bursts));
        break;
    case JOB_HELD_UP:
        paragraph(
            out, INDENT, options->width, options->color ? "\033[1;31m" : "",
            "Rank %u on %s holds the others up: %s of CPU time outside of MPI, the others have %s on average. They "
            "spend %.0f%% of their CPU time in MPI, rank %u %.0f%%.",
            job->slowest->rank, job->slowest->host, number_seconds(job->work), number_seconds(job->others_work),
            100 * job->others_wait, job->slowest->rank, 100 * job->waits);
        put_object(job, options, out);
        break;
    }
}

static const char *slowed(uint32_t matters)
{
    return matters == MATTERS ? "yes" : matters == MATTERS_NOT ? "no" : "undecided";
}

/* "NUMA slows ranks 1, 2. Rank 1: NUMA slows this program on ...": the verdict on the first of those that it slows. */
static void put_slowed(const struct job *job, const struct view_options *options, FILE *out)
{
    array_of(uint32_t) ranks = {0};
    const struct rank_summary *first = NULL;
    array_each (&job->ranks, const struct rank_summary *, at) {
        if ((*at)->matters != MATTERS)
            continue;
        first = first ? first : *at;
        array_push(&ranks, (*at)->rank);
    }
    if (first) {
        char *ranges = job_ranges(ranks.items, ranks.count);
        paragraph(out, INDENT, options->width, "", "NUMA slows rank%s %s. Rank %u: %s.", text_plural(ranks.count),
                  ranges, first->rank, first->verdict);
        free(ranges);
    }
    array_free(&ranks);
}

ORDER_BY(by_work, struct rank_summary *, ORDER(rank_work(*b), rank_work(*a)) ?: ORDER((*a)->rank, (*b)->rank))

static void put_rank(struct table *table, const struct rank_summary *rank)
{
    table_cell(table, "%u", rank->rank);
    table_cell(table, "%s", rank->host);
    table_cell(table, "%s", rank->ended ? number_seconds(rank->duration_s) : "-");
    table_cell(table, "%s", rank->ended ? number_seconds(rank->cpu_s) : "-");
    table_cell(table, "%s", number_percent(rank->mpi_bursts, rank->bursts));
    table_cell(table, "%s", rank->ended && rank->bursts ? number_seconds(rank_work(rank)) : "-");
    table_cell(table, "%s", number_count(rank->samples));
    table_cell(table, "%s", number_percent(rank->remote, rank->home_known));
    if (rank->timed)
        table_cell(table, "%.1f%%", 100 * rank->cost);
    else
        table_cell(table, "-");
    table_cell(table, "%s", *rank->verdict ? slowed(rank->matters) : "-");
    if (rank->lost)
        table_cell(table, "%s", number_count(rank->lost));
    else
        table_cell(table, "%s", "");
    if (rank->ended && rank->exit_status)
        table_cell(table, "%ld", (long)rank->exit_status);
    else
        table_cell(table, "%s", "");
}

static void put_ranks(const struct job *job, const struct view_options *options, FILE *out)
{
    array_of(const struct rank_summary *) rows = {0};
    array_each (&job->ranks, const struct rank_summary *, at)
        array_push(&rows, *at);
    array_sort(&rows, by_work);
    size_t shown = options->limit && options->limit < rows.count ? options->limit : rows.count;
    struct table *table = table_new();
    fprintf(out, "\nRanks, most work first\n");
    table_column(table, "rank", TABLE_RIGHT);
    table_column(table, "host", TABLE_FLEX);
    table_column(table, "run time", TABLE_RIGHT);
    table_column(table, "CPU time", TABLE_RIGHT | TABLE_OPTIONAL);
    table_columns(table, TABLE_RIGHT, "in MPI", "work", "samples", "remote", "cost", "slowed", "lost", "status");
    for (size_t i = 0; i < shown; i++)
        put_rank(table, rows.items[i]);
    table_print(table, out, INDENT, options->width, options->color);
    if (shown < rows.count)
        fprintf(out, "  %zu more: --limit 0\n", rows.count - shown);
    array_free(&rows);
}

static void put_findings(const struct job *job, const struct view_options *options, FILE *out)
{
    size_t shown = 0;
    if (job->findings.count)
        fprintf(out, "\nFindings, most time first\n");
    array_each (&job->findings, const struct job_finding, finding) {
        const struct rank_finding *worst = finding->worst;
        if (++shown > MOST_FINDINGS)
            break;
        char *ranks = job_ranges(finding->ranks.items, finding->ranks.count);
        char *place = place_of(worst->name, worst->file, worst->line);
        bool all = finding->ranks.count == job->ranks.count && finding->ranks.count > 1;
        paragraph(out, INDENT, options->width, "", "On %s%s%s%s: %s on %s: %s", all ? "all ranks (" : "rank",
                  all                         ? ""
                  : finding->ranks.count == 1 ? " "
                                              : "s ",
                  ranks, all ? ")" : "", pattern_name(worst->pattern), place, pattern_text(worst->pattern));
        if (*worst->evidence)
            paragraph(out, DEEPER, options->width, "", "Rank %u: %s%s", finding->worst_rank, worst->evidence,
                      worst->evidence[strlen(worst->evidence) - 1] == '.' ? "" : ".");
        if (*worst->advice)
            paragraph(out, DEEPER, options->width, "", "To do: %s.", worst->advice);
        free(place);
        free(ranks);
    }
    if (job->findings.count > MOST_FINDINGS)
        fprintf(out, "  %zu more: --json\n", job->findings.count - MOST_FINDINGS);
}

static void put_files(const struct rank_summary *const *rows, size_t count, const char *what,
                      const struct view_options *options, FILE *out)
{
    for (size_t i = 0; i < count && i < MOST_FILES; i++)
        paragraph(out, INDENT, options->width, "", "%s: %s%s%s", what, *rows[i]->error ? "" : rows[i]->path,
                  *rows[i]->error ? rows[i]->error : "",
                  !*rows[i]->error && !rows[i]->in_job ? " (recorded outside of a job)" : "");
    if (count > MOST_FILES)
        fprintf(out, "  %zu more: --json\n", count - MOST_FILES);
}

static void put_unknown(const struct job *job, const struct view_options *options, FILE *out)
{
    uint64_t untold = 0;
    if (job->missing.count || job->unread.count || job->strangers.count)
        fprintf(out, "\nNot in this report\n");
    if (job->missing.count) {
        char *ranges = job_ranges(job->missing.items, job->missing.count);
        paragraph(out, INDENT, options->width, "", "No trace of rank%s %s.", text_plural(job->missing.count), ranges);
        free(ranges);
    }
    put_files(job->unread.items, job->unread.count, "Cannot be read", options, out);
    put_files(job->strangers.items, job->strangers.count, "Of another job, or of a rank that is there already", options,
              out);
    array_each (&job->ranks, const struct rank_summary *, at) {
        if (*(*at)->damage)
            paragraph(out, INDENT, options->width, "", "Rank %u: %s", (*at)->rank, (*at)->damage);
        untold += (*at)->more_findings;
    }
    if (untold)
        fprintf(out, "  %s findings of single ranks beyond the worst %d of each\n", number_count(untold),
                RANK_FINDINGS);
}

int job_text(const struct job *job, const struct view_options *options, FILE *out, struct error *err)
{
    const struct rank_summary *next = job->slowest ? job->slowest : job->ranks.items[0];
    put_heading(job, options, out);
    put_balance(job, options, out);
    put_slowed(job, options, out);
    put_ranks(job, options, out);
    put_findings(job, options, out);
    put_unknown(job, options, out);
    char *path = text_safe(next->path), *word = text_shell(path);
    fprintf(out, "\nOne rank: numalens report %s\n", word);
    free(word);
    free(path);
    return report_flush(out, err);
}
