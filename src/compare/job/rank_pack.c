#include "compare/job/rank_pack.h"

#include "base/strtab.h"

#include <string.h>

/* Writes or reads: what is in a summary, and in which order, is said once, below. */
struct coder {
    struct rank_bytes *to; /* or NULL: reads */
    const char *from;
    size_t size, at;
    bool failed;
    struct strtab *texts; /* of what is read */
};

static void code_bytes(struct coder *coder, void *value, size_t size)
{
    if (coder->to) {
        array_reserve(&coder->to->bytes, coder->to->bytes.count + size);
        memcpy(coder->to->bytes.items + coder->to->bytes.count, value, size);
        coder->to->bytes.count += size;
    } else if (coder->failed || coder->size - coder->at < size) {
        coder->failed = true;
        memset(value, 0, size);
    } else {
        memcpy(value, coder->from + coder->at, size);
        coder->at += size;
    }
}

#define code(coder, value) code_bytes(coder, &(value), sizeof(value))

static void code_text(struct coder *coder, const char **text)
{
    size_t length = coder->to ? strlen(*text) : 0;
    code(coder, length);
    if (coder->to) {
        code_bytes(coder, (char *)*text, length);
    } else if (coder->failed || coder->size - coder->at < length) {
        coder->failed = true;
        *text = "";
    } else {
        *text = strtab_text(coder->texts, strtab_add_bytes(coder->texts, coder->from + coder->at, length));
        coder->at += length;
    }
}

static void code_object(struct coder *coder, struct rank_object *object)
{
    code_text(coder, &object->name);
    code_text(coder, &object->file);
    code(coder, object->line);
    code(coder, object->kind);
    code(coder, object->work);
    code(coder, object->samples);
    code(coder, object->remote);
    code(coder, object->home_known);
}

static void code_finding(struct coder *coder, struct rank_finding *finding)
{
    code(coder, finding->pattern);
    code_text(coder, &finding->name);
    code_text(coder, &finding->file);
    code_text(coder, &finding->evidence);
    code_text(coder, &finding->advice);
    code(coder, finding->line);
    code(coder, finding->share_of_remote);
    code(coder, finding->lost_time_share);
}

static void code_lists(struct coder *coder, struct rank_summary *summary)
{
    size_t objects = summary->objects.count, findings = summary->findings.count;
    code(coder, objects);
    for (size_t i = 0; i < objects && !coder->failed; i++) {
        if (!coder->to)
            array_push(&summary->objects, (struct rank_object){0});
        code_object(coder, &summary->objects.items[i]);
    }
    code(coder, findings);
    for (size_t i = 0; i < findings && !coder->failed; i++) {
        if (!coder->to)
            array_push(&summary->findings, (struct rank_finding){0});
        code_finding(coder, &summary->findings.items[i]);
    }
}

static void code_summary(struct coder *coder, struct rank_summary *summary)
{
    const char **const texts[] = {&summary->path,     &summary->error,     &summary->damage,  &summary->job,
                                  &summary->launcher, &summary->host,      &summary->command, &summary->verdict,
                                  &summary->grade,    &summary->bottleneck};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        code_text(coder, texts[i]);
    code(coder, summary->in_job);
    code(coder, summary->rank);
    code(coder, summary->ranks);
    code(coder, summary->ended);
    code(coder, summary->duration_s);
    code(coder, summary->cpu_s);
    code(coder, summary->exit_status);
    code(coder, summary->samples);
    code(coder, summary->remote);
    code(coder, summary->home_known);
    code(coder, summary->lost);
    code(coder, summary->bursts);
    code(coder, summary->mpi_bursts);
    code(coder, summary->nodes);
    code(coder, summary->timed);
    code(coder, summary->cost);
    code(coder, summary->cost_low);
    code(coder, summary->cost_high);
    code(coder, summary->matters);
    code(coder, summary->more_findings);
    code_lists(coder, summary);
}

void rank_pack(struct rank_bytes *to, const struct rank_summary *summary)
{
    struct rank_summary copy = *summary; /* its lists are only read */
    code_summary(&(struct coder){.to = to}, &copy);
}

struct rank_summary *rank_unpack(const char *bytes, size_t size, size_t *at)
{
    if (*at >= size)
        return NULL;
    struct rank_summary *summary = rank_summary_unread("", "");
    struct coder coder = {.from = bytes, .size = size, .at = *at, .texts = summary->texts};
    code_summary(&coder, summary);
    *at = coder.at;
    if (!coder.failed)
        return summary;
    rank_summary_free(summary);
    return NULL;
}
