/* lib/api/api_findings.c - facts and findings as rows. Facts are made for those subjects that are asked for. */
#include "lib/api/api.h"

#include "analysis/findings/findings.h"
#include "analysis/traffic/traffic.h"
#include "numalens/findings.h"
#include "predict/first_line.h"

#include <errno.h>
#include <string.h>

struct api_findings {
    struct findings *findings; /* NULL: the trace could not be read */
    struct facts *facts;       /* of the findings */
    int failed;
    nlens_finding *rows;
    nlens_verdict verdict;
    nlens_facts **objects, **sites; /* by index, made when asked for */
    array_of(void *) lists;         /* of users, phases, advice */
};

/* Room for a list that lives as long as the trace. */
static void *list_new(struct api_findings *all, size_t count, size_t size)
{
    void *list = mem_zalloc((count + 1) * size);
    array_push(&all->lists, list);
    return list;
}

static const nlens_user *make_users(nlens_trace *trace, const struct facts_subject *from)
{
    size_t count = from->users.count;
    nlens_user *users = list_new(trace->findings, count, sizeof *users);
    for (size_t i = 0; i < count; i++) {
        const struct fact_user *user = &from->users.items[i];
        users[i] = (nlens_user){.next = i + 1 < count ? &users[i + 1] : NULL,
                                .thread = api_thread(trace, user->thread),
                                .node = user->node,
                                .samples = user->samples,
                                .reads = user->reads,
                                .writes = user->writes,
                                .remote = user->remote,
                                .touched = user->touched,
                                .first = user->first,
                                .last = user->last};
    }
    return count ? users : NULL;
}

static const nlens_phase *make_phases(nlens_trace *trace, const struct facts_subject *from)
{
    size_t count = from->phases.count;
    nlens_phase *phases = list_new(trace->findings, count, sizeof *phases);
    for (size_t i = 0; i < count; i++) {
        const struct fact_phase *phase = &from->phases.items[i];
        phases[i] = (nlens_phase){.next = i + 1 < count ? &phases[i + 1] : NULL,
                                  .start = phase->start,
                                  .end = phase->end,
                                  .samples = phase->samples,
                                  .remote = phase->remote};
    }
    return count ? phases : NULL;
}

/* A row as programs see it, and what it was made from. */
struct api_facts {
    nlens_facts row;
    const struct facts_subject *subject;
};

static nlens_facts *make_facts(nlens_trace *trace, const struct facts_subject *from)
{
    struct api_facts *made = list_new(trace->findings, 1, sizeof *made);
    nlens_facts *to = &made->row;
    made->subject = from;
    *to = (nlens_facts){.trace = trace,
                        .object = api_object(trace, from->object),
                        .site = from->site == FLOW_NONE ? NULL : &trace->sites[from->site],
                        .users = make_users(trace, from),
                        .from = from->from,
                        .home = from->home,
                        .phases = make_phases(trace, from)};
    api_totals(&to->totals, &from->totals);
    return to;
}

static const nlens_facts *facts_of(nlens_trace *trace, nlens_facts **rows, const struct facts_subject *from,
                                   uint32_t index)
{
    if (from->totals.samples == 0)
        return NULL;
    if (!rows[index])
        rows[index] = make_facts(trace, from);
    return rows[index];
}

static const nlens_advice *make_advice(nlens_trace *trace, const struct advice *from, size_t count)
{
    nlens_advice *list = list_new(trace->findings, count, sizeof *list);
    for (size_t i = 0; i < count; i++)
        list[i] = (nlens_advice){.next = i + 1 < count ? &list[i + 1] : NULL,
                                 .action = action_name(from[i].action),
                                 .text = action_text(from[i].action),
                                 .why = api_text(trace, from[i].why),
                                 .code = api_lines(trace, from[i].code)};
    return count ? list : NULL;
}

static nlens_finding make_finding(nlens_trace *trace, const struct finding *from, uint32_t id)
{
    struct api_findings *all = trace->findings;
    const struct facts_subject *subject = from->subject;
    const nlens_facts *facts =
        !subject        ? NULL
        : from->is_site ? facts_of(trace, all->sites, subject, subject->site)
                        : facts_of(trace, all->objects, facts_of_object(all->facts, subject->object), subject->object);
    return (nlens_finding){.trace = trace,
                           .id = id,
                           .pattern = pattern_name(from->pattern),
                           .text = pattern_text(from->pattern),
                           .name = api_text(trace, from->name),
                           .function = api_text(trace, from->function),
                           .file = api_text(trace, from->file),
                           .line = from->line,
                           .facts = facts,
                           .object = facts ? facts->object : NULL,
                           .site = facts && from->is_site ? facts->site : NULL,
                           .node = from->node,
                           .remote_samples = from->remote_samples,
                           .share_of_remote = from->share_of_remote,
                           .lost_time_share = from->lost_time_share,
                           .confidence = from->confidence,
                           .evidence = api_text(trace, from->evidence),
                           .gain = api_text(trace, from->gain),
                           .advice = make_advice(trace, from->advice.items, from->advice.count),
                           .against = make_advice(trace, from->against.items, from->against.count)};
}

/* 0 is what is not known inside. */
static double known_rate(double value)
{
    return value > 0 ? value : -1;
}

static nlens_verdict make_verdict(nlens_trace *trace, const struct findings *from)
{
    static const int words[] = {
        [MATTERS_UNDECIDED] = NLENS_UNDECIDED, [MATTERS_NOT] = NLENS_MATTERS_NOT, [MATTERS] = NLENS_MATTERS};
    bool rated = from->traffic && from->traffic->all.is_rated, remote = rated && from->remote_bytes >= 0;
    bool timed = from->facts->timed && from->facts->bursts && from->facts->totals.home_known;
    return (nlens_verdict){.trace = trace,
                           .matters = words[from->matters],
                           .text = api_text(trace, from->verdict),
                           .machine = api_text(trace, from->machine),
                           .grade = api_text(trace, from->grade),
                           .bottleneck = api_text(trace, from->bottleneck),
                           .asked_bytes_s = known_rate(from->asked.asked),
                           .low = known_rate(from->asked.low),
                           .high = known_rate(from->asked.high),
                           .can_bytes_s = known_rate(from->asked.can),
                           .against = api_text(trace, from->against),
                           .then_asked_bytes_s = known_rate(from->then.asked),
                           .then_can_bytes_s = known_rate(from->then.can),
                           .bytes_s = rated ? from->bytes : -1,
                           .bytes_low = rated ? from->bytes_low : -1,
                           .bytes_high = rated ? from->bytes_high : -1,
                           .remote_bytes_share = remote ? from->remote_bytes : -1,
                           .remote_bytes_share_low = remote ? from->remote_bytes_low : -1,
                           .remote_bytes_share_high = remote ? from->remote_bytes_high : -1,
                           .remote_time_low = timed ? from->remote_time_low : -1,
                           .remote_time_high = timed ? from->remote_time_high : -1,
                           .evidence_bursts = from->traffic ? from->traffic->bursts : 0};
}

int nlens_diagnose(nlens_trace *trace, nlens_error *err)
{
    struct error cause = {0};
    struct api_findings *all = trace->findings;
    if (!all) {
        all = trace->findings = mem_zalloc(sizeof *all);
        all->findings = findings_of(trace->flow, NULL, &cause);
        all->failed = all->findings ? 0 : cause.code ? cause.code : -EIO;
        if (all->findings) {
            all->facts = all->findings->own_facts;
            all->objects = list_new(all, all->facts->objects.count, sizeof(nlens_facts *));
            all->sites = list_new(all, all->facts->sites.count, sizeof(nlens_facts *));
            all->verdict = make_verdict(trace, all->findings);
            all->rows = list_new(all, all->findings->items.count, sizeof *all->rows);
            for (uint32_t i = 0; i < all->findings->items.count; i++)
                all->rows[i] = make_finding(trace, &all->findings->items.items[i], i);
        }
    }
    if (all->failed && !cause.code)
        error_set(&cause, all->failed, "the trace could not be read again");
    api_error(err, &cause);
    return all->failed;
}

void api_findings_free(nlens_trace *trace)
{
    struct api_findings *all = trace->findings;
    if (!all)
        return;
    array_each (&all->lists, void *, list)
        free(*list);
    array_free(&all->lists);
    findings_free(all->findings);
    free(all);
}

const nlens_facts *nlens_object_facts(const nlens_object *object)
{
    nlens_trace *trace = object->trace;
    if (nlens_diagnose(trace, NULL) < 0 || object->id >= trace->findings->facts->objects.count)
        return NULL;
    return facts_of(trace, trace->findings->objects, &trace->findings->facts->objects.items[object->id], object->id);
}

const nlens_facts *nlens_site_facts(const nlens_site *site)
{
    nlens_trace *trace = site->trace;
    if (nlens_diagnose(trace, NULL) < 0 || site->id >= trace->findings->facts->sites.count)
        return NULL;
    return facts_of(trace, trace->findings->sites, &trace->findings->facts->sites.items[site->id], site->id);
}

bool nlens_fact_at(const nlens_facts *facts, unsigned index, nlens_fact *fact)
{
    const struct api_facts *made = (const struct api_facts *)facts;
    if (index >= FACTS)
        return false;
    struct fact_value value = fact_value(&fact_table[index], made->subject, facts->trace->flow);
    *fact = (nlens_fact){.name = fact_table[index].name,
                         .meaning = fact_table[index].meaning,
                         .word = value.word,
                         .number = value.decimals ? value.real : (double)value.number,
                         .known = value.known};
    return true;
}

bool nlens_fact_named(const nlens_facts *facts, const char *name, nlens_fact *fact)
{
    for (unsigned i = 0; i < FACTS; i++)
        if (strcmp(fact_table[i].name, name) == 0)
            return nlens_fact_at(facts, i, fact);
    return false;
}

const nlens_finding *nlens_next_finding(nlens_trace *trace, const nlens_finding *last)
{
    uint32_t next = last ? last->id + 1 : 0;
    if (nlens_diagnose(trace, NULL) < 0)
        return NULL;
    return next < trace->findings->findings->items.count ? &trace->findings->rows[next] : NULL;
}

const nlens_verdict *nlens_get_verdict(nlens_trace *trace)
{
    return nlens_diagnose(trace, NULL) == 0 ? &trace->findings->verdict : NULL;
}

bool nlens_numa_bound(nlens_trace *trace, const char **why)
{
    if (why)
        *why = "";
    bool known = nlens_diagnose(trace, NULL) == 0;
    if (why)
        *why = known ? api_text(trace, trace->findings->findings->verdict) : "";
    return known && trace->findings->findings->numa_bound;
}
