/* view/job/job_json.c - the report of a job for programs; docs/json.md names the fields. */
#include "view/job/job_view.h"

#include "base/json.h"
#include "view/problems/patterns.h"

static void put_numbers(struct json *json, const char *key, const uint32_t *numbers, size_t count)
{
    json_array(json, key);
    for (size_t i = 0; i < count; i++)
        json_number(json, NULL, numbers[i]);
    json_end(json);
}

static void text_or_null(struct json *json, const char *key, const char *text)
{
    json_text(json, key, *text ? text : NULL);
}

static void put_rank(struct json *json, const struct rank_summary *rank)
{
    bool burst = rank->bursts > 0;
    json_object(json, NULL);
    json_number(json, "rank", rank->rank);
    json_text(json, "host", rank->host);
    json_text(json, "file", rank->path);
    json_real_if(json, "duration_s", rank->ended, rank->duration_s, 6);
    json_real_if(json, "cpu_s", rank->ended, rank->cpu_s, 6);
    json_real_if(json, "work_s", rank->ended && burst, rank_work(rank), 6);
    json_real_if(json, "mpi_share", burst, (double)rank->mpi_bursts / (double)rank->bursts, 6);
    json_number(json, "samples", rank->samples);
    json_number(json, "bursts", rank->bursts);
    json_number_if(json, "remote", rank->home_known > 0 || rank->samples == 0, rank->remote);
    json_real_if(json, "remote_share", rank->home_known > 0, (double)rank->remote / (double)rank->home_known, 6);
    json_real_if(json, "cost", rank->timed, rank->cost, 6);
    json_real_if(json, "cost_low", rank->timed, rank->cost_low, 6);
    json_real_if(json, "cost_high", rank->timed, rank->cost_high, 6);
    verdict_put_head(json, rank->matters, rank->grade, rank->bottleneck);
    text_or_null(json, "text", rank->verdict);
    json_end(json);
    json_number(json, "lost", rank->lost);
    json_integer_if(json, "exit_status", rank->ended, rank->exit_status);
    text_or_null(json, "damage", rank->damage);
    json_end(json);
}

static void put_balance(struct json *json, const struct job *job)
{
    bool known = job->slowest != NULL;
    json_text(json, "balance", job_balance_name(job->balance));
    json_number_if(json, "slowest", known, job->slowest->rank);
    json_real_if(json, "imbalance", known, job->imbalance, 6);
    json_real_if(json, "work_s", known, job->work, 6);
    json_real_if(json, "others_work_s", known, job->others_work, 6);
    json_real_if(json, "mpi_share", known, job->waits, 6);
    json_real_if(json, "others_mpi_share", known, job->others_wait, 6);
    if (!job->object) {
        json_null(json, "object");
        return;
    }
    const struct rank_object *object = job->object;
    json_object(json, "object");
    json_text(json, "name", object->name);
    json_text(json, "kind", object_kind_name(object->kind));
    text_or_null(json, "file", object->file);
    json_number_if(json, "line", object->line, object->line);
    json_real(json, "work_s", job->object_work, 6);
    json_real(json, "others_work_s", job->object_others_work, 6);
    json_real_if(json, "remote_share", object->home_known > 0, (double)object->remote / (double)object->home_known, 6);
    json_end(json);
}

static void put_finding(struct json *json, const struct job_finding *finding)
{
    const struct rank_finding *worst = finding->worst;
    json_object(json, NULL);
    json_text(json, "pattern", pattern_name(worst->pattern));
    json_text(json, "name", worst->name);
    text_or_null(json, "file", worst->file);
    json_number_if(json, "line", worst->line, worst->line);
    put_numbers(json, "ranks", finding->ranks.items, finding->ranks.count);
    json_real(json, "lost_s", finding->lost_s, 6);
    json_number(json, "worst_rank", finding->worst_rank);
    json_real(json, "lost_time_share", worst->lost_time_share, 6);
    text_or_null(json, "evidence", worst->evidence);
    text_or_null(json, "advice", worst->advice);
    json_end(json);
}

int job_json(const struct job *job, const struct view_options *options, FILE *out, struct error *err)
{
    struct json *json = json_new(out);
    json_object(json, NULL);
    json_number(json, "version", JSON_VERSION);
    json_text(json, "folder", options->path);
    text_or_null(json, "job", job->name);
    json_text(json, "launcher", job->launcher);
    json_text(json, "command", job->command);
    json_number(json, "size", job->size);
    put_balance(json, job);
    json_array(json, "hosts");
    array_each (&job->hosts, const struct job_host, host) {
        json_object(json, NULL);
        json_text(json, "host", host->name);
        json_number(json, "ranks", host->ranks);
        json_end(json);
    }
    json_end(json);
    json_array(json, "ranks");
    array_each (&job->ranks, const struct rank_summary *, at)
        put_rank(json, *at);
    json_end(json);
    json_array(json, "findings");
    array_each (&job->findings, const struct job_finding, finding)
        put_finding(json, finding);
    json_end(json);
    put_numbers(json, "missing", job->missing.items, job->missing.count);
    json_array(json, "unreadable");
    array_each (&job->unread, const struct rank_summary *, at) {
        json_object(json, NULL);
        json_text(json, "file", (*at)->path);
        json_text(json, "error", (*at)->error);
        json_end(json);
    }
    json_end(json);
    json_array(json, "other");
    array_each (&job->strangers, const struct rank_summary *, at)
        json_text(json, NULL, (*at)->path);
    return json_finish(json, err);
}
