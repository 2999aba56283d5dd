#include "compare/job/job.h"

#include "base/order.h"
#include "analysis/thresholds.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

const char *job_balance_name(enum job_balance balance)
{
    static const char *const names[] = {"one-rank", "unknown", "even", "undecided", "held-up"};
    return balance <= JOB_HELD_UP ? names[balance] : "?";
}

char *job_ranges(const uint32_t *numbers, size_t count)
{
    array_of(char) text = {0};
    for (size_t i = 0, last; i < count; i = last + 1) {
        char range[32];
        for (last = i; last + 1 < count && numbers[last + 1] == numbers[last] + 1;)
            last++;
        if (last == i)
            snprintf(range, sizeof range, "%s%u", i ? ", " : "", numbers[i]);
        else
            snprintf(range, sizeof range, "%s%u%s%u", i ? ", " : "", numbers[i], last == i + 1 ? ", " : "-",
                     numbers[last]);
        for (const char *at = range; *at; at++)
            array_push(&text, *at);
    }
    array_push(&text, '\0');
    return text.items;
}

/* --- whose traces these are --- */

ORDER_BY(by_rank, struct rank_summary *,
         ORDER((*b)->in_job, (*a)->in_job) ?: ORDER((*a)->rank, (*b)->rank) ?: strcmp((*a)->path, (*b)->path))

ORDER_BY(by_name, char *, strcmp(*a, *b))

/* The job that most of the traces are of; the first by name among equals. */
static const char *most_frequent(struct rank_summary *const *summaries, size_t count)
{
    array_of(const char *) names = {0};
    const char *best = NULL;
    size_t most = 0;
    for (size_t i = 0; i < count; i++)
        if (!*summaries[i]->error && summaries[i]->in_job)
            array_push(&names, summaries[i]->job);
    array_sort(&names, by_name);
    for (size_t i = 0, same = 0; i < names.count; i++) {
        same = i && strcmp(names.items[i], names.items[i - 1]) == 0 ? same + 1 : 1;
        if (same > most) {
            most = same;
            best = names.items[i];
        }
    }
    array_free(&names);
    return best;
}

static void sort_out(struct job *job, struct rank_summary *const *summaries, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct rank_summary *summary = summaries[i];
        if (*summary->error)
            array_push(&job->unread, summary);
        else if (!summary->in_job || strcmp(summary->job, job->name) != 0)
            array_push(&job->strangers, summary);
        else
            array_push(&job->ranks, summary);
    }
    array_sort(&job->ranks, by_rank);
    array_sort(&job->unread, by_rank);
    size_t kept = 0;
    for (size_t i = 0; i < job->ranks.count; i++) {
        if (kept && job->ranks.items[kept - 1]->rank == job->ranks.items[i]->rank)
            array_push(&job->strangers, job->ranks.items[i]);
        else
            job->ranks.items[kept++] = job->ranks.items[i];
    }
    job->ranks.count = kept;
    array_sort(&job->strangers, by_rank);
}

static void count_ranks(struct job *job)
{
    uint32_t next = 0;
    array_each (&job->ranks, const struct rank_summary *, at) {
        uint32_t min_size = (*at)->rank + 1;
        job->size = (*at)->ranks > job->size ? (*at)->ranks : job->size;
        job->size = min_size > job->size ? min_size : job->size;
    }
    array_each (&job->ranks, const struct rank_summary *, at) {
        for (; next < (*at)->rank; next++)
            array_push(&job->missing, next);
        next = (*at)->rank + 1;
    }
    for (; next < job->size; next++)
        array_push(&job->missing, next);
}

ORDER_BY(by_host, struct job_host, strcmp(a->name, b->name))

static void count_hosts(struct job *job)
{
    size_t kept = 0;
    array_each (&job->ranks, const struct rank_summary *, at)
        array_push(&job->hosts, (struct job_host){(*at)->host, 1});
    array_sort(&job->hosts, by_host);
    for (size_t i = 0; i < job->hosts.count; i++) {
        if (kept && strcmp(job->hosts.items[kept - 1].name, job->hosts.items[i].name) == 0)
            job->hosts.items[kept - 1].ranks++;
        else
            job->hosts.items[kept++] = job->hosts.items[i];
    }
    job->hosts.count = kept;
}

/* --- who holds the others up --- */

static const struct rank_object *same_object(const struct rank_summary *summary, const struct rank_object *wanted)
{
    array_each (&summary->objects, const struct rank_object, object)
        if (object->kind == wanted->kind && object->line == wanted->line && strcmp(object->name, wanted->name) == 0 &&
            strcmp(object->file, wanted->file) == 0)
            return object;
    return NULL;
}

/* Stacks and sections have no name of their own in the source: they are named only where nothing else stands out. */
static bool is_named(const struct rank_object *object)
{
    return object->kind != OBJECT_STACK && object->kind != OBJECT_SECTION;
}

/* The object with most of the difference between the slowest rank and the others; at least a fifth of it. */
static void find_object(struct job *job)
{
    double min_work = (job->work - job->others_work) / 5;
    for (unsigned any = 0; any < 2 && !job->object; any++) {
        double most = min_work;
        array_each (&job->slowest->objects, const struct rank_object, object) {
            double work = rank_object_work(job->slowest, object), others = 0;
            if (!any && !is_named(object))
                continue;
            array_each (&job->ranks, const struct rank_summary *, at) {
                const struct rank_object *same = *at != job->slowest ? same_object(*at, object) : NULL;
                others += same ? rank_object_work(*at, same) : 0;
            }
            others /= (double)(job->ranks.count - 1);
            double sure = thresholds.deviations * rank_object_deviation(job->slowest, object);
            if (work - others <= most || work - others <= sure)
                continue;
            most = work - others;
            job->object = object;
            job->object_work = work;
            job->object_others_work = others;
        }
    }
}

static double share_in_mpi(double mpi_s, double cpu_s)
{
    return cpu_s > 0 ? mpi_s / cpu_s : 0;
}

static void judge_balance(struct job *job)
{
    double sum = 0, cpu = 0, variance = 0;
    size_t known = 0, others = job->ranks.count - 1;
    array_each (&job->ranks, const struct rank_summary *, at) {
        known += (*at)->ended && (*at)->bursts > 0 && (*at)->cpu_s > 0;
        sum += rank_work(*at);
        cpu += (*at)->cpu_s;
        variance += rank_work_deviation(*at) * rank_work_deviation(*at);
        if (!job->slowest || rank_work(*at) > rank_work(job->slowest))
            job->slowest = *at;
    }
    job->balance = job->ranks.count < 2 ? JOB_ONE_RANK : JOB_UNKNOWN;
    if (job->balance == JOB_ONE_RANK || known < job->ranks.count || sum <= 0) {
        job->slowest = NULL;
        return;
    }
    double own = rank_work_deviation(job->slowest);
    job->work = rank_work(job->slowest);
    job->others_work = (sum - job->work) / (double)others;
    job->imbalance = job->work / (sum / (double)job->ranks.count) - 1;
    job->waits = share_in_mpi(job->slowest->cpu_s - job->work, job->slowest->cpu_s);
    job->others_wait = share_in_mpi(cpu - job->slowest->cpu_s - (sum - job->work), cpu - job->slowest->cpu_s);
    double deviation = sqrt(own * own + fmax(variance - own * own, 0) / (double)(others * others));
    bool uneven = job->work > (1 + thresholds.part) * job->others_work;
    bool sure = (double)job->slowest->bursts >= thresholds.fewest_bursts &&
                job->work - job->others_work > thresholds.deviations * deviation;
    job->balance = uneven && sure ? JOB_HELD_UP : uneven ? JOB_UNDECIDED : JOB_EVEN;
    if (job->balance == JOB_HELD_UP)
        find_object(job);
}

/* --- what is wrong on which of them --- */

struct seen {
    const struct rank_finding *finding;
    const struct rank_summary *summary;
};

static int same_finding(const struct rank_finding *a, const struct rank_finding *b)
{
    if (a->pattern != b->pattern)
        return a->pattern < b->pattern ? -1 : 1;
    int order = strcmp(a->name, b->name);
    order = order ? order : strcmp(a->file, b->file);
    return order ? order : a->line < b->line ? -1 : a->line > b->line;
}

ORDER_BY(by_finding, struct seen, same_finding(a->finding, b->finding) ?: ORDER(a->summary->rank, b->summary->rank))

ORDER_BY(by_lost_time, struct job_finding, ORDER(b->lost_s, a->lost_s) ?: same_finding(a->worst, b->worst))

static void join_findings(struct job *job)
{
    array_of(struct seen) all = {0};
    array_each (&job->ranks, const struct rank_summary *, at)
        array_each (&(*at)->findings, const struct rank_finding, finding)
            array_push(&all, (struct seen){finding, *at});
    array_sort(&all, by_finding);
    for (size_t i = 0; i < all.count; i++) {
        const struct seen *seen = &all.items[i];
        if (i == 0 || same_finding(all.items[i - 1].finding, seen->finding) != 0)
            array_push(&job->findings, (struct job_finding){.worst = seen->finding, .worst_rank = seen->summary->rank});
        struct job_finding *joined = &job->findings.items[job->findings.count - 1];
        if (seen->finding->lost_time_share > joined->worst->lost_time_share) {
            joined->worst = seen->finding;
            joined->worst_rank = seen->summary->rank;
        }
        joined->lost_s += seen->finding->lost_time_share * seen->summary->cpu_s;
        /* A rank may have it twice: on two sites of one line, or at two nodes. */
        if (!joined->ranks.count || joined->ranks.items[joined->ranks.count - 1] != seen->summary->rank)
            array_push(&joined->ranks, seen->summary->rank);
    }
    array_sort(&job->findings, by_lost_time);
    array_free(&all);
}

struct job *job_make(struct rank_summary *const *summaries, size_t count, const char *folder, struct error *err)
{
    const char *name = most_frequent(summaries, count);
    if (!name) {
        size_t unread = 0;
        const struct rank_summary *first = NULL;
        for (size_t i = 0; i < count; i++) {
            unread += *summaries[i]->error != '\0';
            if (*summaries[i]->error && (!first || strcmp(summaries[i]->path, first->path) < 0))
                first = summaries[i];
        }
        if (first)
            error_set(err, -EINVAL, "%s: none of its %zu traces is one of a job's rank; %zu cannot be read, such as %s",
                      folder, count, unread, first->error);
        else
            error_set(err, -EINVAL,
                      "%s: none of its %zu traces is one of a job's rank; record with mpirun -n 4 numalens record -- "
                      "./app, or report one of them",
                      folder, count);
        return NULL;
    }
    struct job *job = mem_zalloc(sizeof *job);
    job->name = name;
    sort_out(job, summaries, count);
    job->launcher = job->ranks.items[0]->launcher;
    job->command = job->ranks.items[0]->command;
    count_ranks(job);
    count_hosts(job);
    judge_balance(job);
    join_findings(job);
    return job;
}

void job_free(struct job *job)
{
    if (!job)
        return;
    array_each (&job->findings, struct job_finding, finding)
        array_free(&finding->ranks);
    array_free(&job->findings);
    array_free(&job->ranks);
    array_free(&job->strangers);
    array_free(&job->unread);
    array_free(&job->missing);
    array_free(&job->hosts);
    free(job);
}
