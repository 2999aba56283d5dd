/* page/parts/verdicts.c - what is wrong and what to do about it, with the object and the stretch of time it is about. */
#include "page/parts/parts.h"
#include "page/parts/put.h"

static void put_advice(struct json *json, const char *key, const struct advice *advice, size_t count)
{
    json_array(json, key);
    for (size_t i = 0; i < count; i++) {
        json_object(json, NULL);
        json_text(json, "action", action_name(advice[i].action));
        json_text(json, "text", action_text(advice[i].action));
        json_text(json, "why", advice[i].why);
        json_text(json, "code", advice[i].code);
        json_end(json);
    }
    json_end(json);
}

/* The shortest stretch of a subject's hot phases that holds most of its remote accesses; false when there is none. */
static bool find_stretch(const struct facts_subject *subject, uint64_t *from, uint64_t *to)
{
    static const double MOST = 0.8;
    uint64_t all = 0;
    bool found = false;
    array_each (&subject->phases, const struct fact_phase, phase)
        all += phase->remote;
    for (size_t first = 0; first < subject->phases.count; first++) {
        uint64_t remote = 0;
        for (size_t last = first; last < subject->phases.count; last++) {
            uint64_t start = subject->phases.items[first].start, end = subject->phases.items[last].end;
            remote += subject->phases.items[last].remote;
            if (remote == 0 || (double)remote < MOST * (double)all)
                continue;
            if (!found || end - start < *to - *from) {
                *from = start;
                *to = end;
            }
            found = true;
            break;
        }
    }
    return found;
}

/* "Memory of node 0 is asked for 70% of what it can deliver instead of 260%, on generic-4", or null. */
static void put_then(const struct findings *findings, const struct finding *finding, struct json *json)
{
    char *text = finding->then_text ? mem_format("%s, on %s", finding->then_text, findings->machine) : NULL;
    json_text(json, "then", text);
    free(text);
}

static void put_finding(const struct parts *parts, const struct finding *finding, struct json *json)
{
    const struct facts_subject *subject = finding->subject;
    uint64_t from = flow_start(parts->flow), to = flow_end(parts->flow);
    json_object(json, NULL);
    json_text(json, "pattern", pattern_name(finding->pattern));
    json_text(json, "text", pattern_text(finding->pattern));
    json_text(json, "name", finding->name);
    json_text(json, "function", finding->function);
    json_text(json, "file", finding->file);
    json_number(json, "line", finding->line);
    put_index(json, "object", subject ? rank_of(&parts->objects, subject->object) : FLOW_NONE);
    put_index(json, "site", subject ? rank_of(&parts->sites, subject->site) : FLOW_NONE);
    json_bool(json, "is_site", finding->is_site);
    json_number(json, "instances", subject ? subject->instances : 0);
    json_integer(json, "node", finding->node);
    json_number(json, "remote_samples", finding->remote_samples);
    json_real(json, "share_of_remote", finding->share_of_remote, 6);
    json_real(json, "lost_time_share", finding->lost_time_share, 6);
    json_real(json, "confidence", finding->confidence, 3);
    json_text(json, "evidence", finding->evidence);
    json_text(json, "gain", finding->gain);
    put_then(parts->findings, finding, json);
    json_text(json, "instead", finding->instead);
    put_advice(json, "advice", finding->advice.items, finding->advice.count);
    put_advice(json, "against", finding->against.items, finding->against.count);
    if (subject)
        find_stretch(subject, &from, &to);
    put_time(json, "from_s", parts->flow, from);
    put_time(json, "to_s", parts->flow, to);
    json_end(json);
}

void verdicts_put(const struct parts *parts, struct json *json)
{
    const struct findings *findings = parts->findings;
    json_object(json, "verdict");
    json_bool(json, "numa_bound", findings->numa_bound);
    json_bool(json, "decided", findings->decided && (findings->numa_bound || findings->matters == MATTERS_NOT));
    json_text(json, "text", findings->verdict);
    json_text(json, "lines", findings->verdict_lines ? findings->verdict_lines : findings->verdict);
    json_real(json, "remote_time_share", findings->remote_time_share, 6);
    json_real(json, "remote_time_bound", findings->remote_time_bound, 6);
    json_end(json);
    json_array(json, "findings");
    array_each (&findings->items, const struct finding, finding)
        put_finding(parts, finding, json);
    json_end(json);
}
