/* view/problems/patterns.c - numalens report patterns: which findings are shown, and all of them for programs. */
#include "view/problems/patterns.h"

#include "analysis/facts/claim.h"
#include "base/json.h"
#include "base/text.h"
#include "predict/first_line.h"
#include "view/report/report.h"

#include <string.h>

bool pattern_passes(const struct findings *findings, const struct finding *finding, const struct view_filter *filter)
{
    const struct flow *flow = findings->facts->flow;
    const struct flow_object *object = finding->subject ? flow_object(flow, finding->subject->object) : NULL;
    if (filter->kind >= 0 && (!object || object->kind != filter->kind))
        return false;
    if (filter->pid && (!object || flow_process(flow, object->process)->pid != filter->pid))
        return false;
    if (finding->share_of_remote < filter->min_share || finding->remote_samples < filter->min_samples)
        return false;
    return !filter->text || text_contains(finding->name, filter->text) ||
           text_contains(finding->function, filter->text) || text_contains(finding->file, filter->text) ||
           text_contains(pattern_name(finding->pattern), filter->text);
}

char *pattern_subject(const struct finding *finding)
{
    if (finding->line && *finding->file)
        return mem_format("%s(%s:%u)", finding->name, text_file_name(finding->file), finding->line);
    return mem_format("%s", finding->name);
}

static void put_advice(struct json *json, const struct advice *advice, bool code)
{
    json_object(json, NULL);
    json_text(json, "action", action_name(advice->action));
    json_text(json, "why", advice->why);
    if (code)
        json_text(json, "code", advice->code);
    json_end(json);
}

void pattern_put_subject(struct json *json, const struct findings *findings, const struct finding *finding)
{
    const struct facts_subject *subject = finding->subject;
    const struct flow_object *object = subject ? flow_object(findings->facts->flow, subject->object) : NULL;
    const struct flow_site *site =
        subject && subject->site != FLOW_NONE ? flow_site(findings->facts->flow, subject->site) : NULL;
    char *written = pattern_subject(finding);
    json_text(json, "name", finding->name);
    json_text(json, "subject", written);
    free(written);
    json_text(json, "site", site ? site->label : NULL);
    json_text(json, "function", finding->function && *finding->function ? finding->function : NULL);
    json_text(json, "file", finding->file && *finding->file ? finding->file : NULL);
    json_number_if(json, "line", finding->line, finding->line);
    json_text(json, "kind", object ? view_object_kind(object) : pattern_on(finding->pattern));
    json_number_if(json, "object", object && !finding->is_site, object->id);
    json_number(json, "instances", subject ? subject->instances : 0);
    json_integer_if(json, "node", finding->node >= 0,
                    flow_topology(findings->facts->flow)->nodes[finding->node].os_index);
}

static void put_finding(struct json *json, const struct findings *findings, const struct finding *finding)
{
    json_object(json, NULL);
    json_text(json, "pattern", pattern_name(finding->pattern));
    pattern_put_subject(json, findings, finding);
    json_number(json, "remote", finding->remote_samples);
    json_real(json, "share_of_remote", finding->share_of_remote, 6);
    json_real(json, "lost_time_share", finding->lost_time_share, 6);
    json_real(json, "confidence", finding->confidence, 3);
    json_text(json, "sure", claim_word(finding->confidence));
    json_number(json, "bursts", finding->bursts);
    json_text(json, "evidence", finding->evidence);
    json_text(json, "gain", finding->gain);
    pattern_put_gain(json, "predicted_gain", findings, finding);
    json_text(json, "instead", finding->instead);
    json_array(json, "advice");
    array_each (&finding->advice, const struct advice, advice)
        put_advice(json, advice, true);
    json_end(json);
    json_array(json, "against");
    array_each (&finding->against, const struct advice, advice)
        put_advice(json, advice, false);
    json_end(json);
    json_end(json);
}

static void put_undecided(struct json *json, const struct findings *findings, const struct view_options *options)
{
    json_array(json, "undecided");
    array_each (&findings->undecided, const struct undecided, undecided) {
        if (!pattern_passes(findings, &undecided->finding, &options->filter))
            continue;
        json_object(json, NULL);
        pattern_put_subject(json, findings, &undecided->finding);
        json_number(json, "remote", undecided->finding.remote_samples);
        json_real(json, "share_of_remote", undecided->finding.share_of_remote, 6);
        json_text(json, "likeliest", pattern_name(undecided->finding.pattern));
        json_real(json, "confidence", undecided->finding.confidence, 3);
        json_number(json, "bursts", undecided->bursts);
        json_number(json, "needed", undecided->needed);
        json_end(json);
    }
    json_end(json);
    json_text(json, "decide", *findings->decide ? findings->decide : NULL);
}

static int patterns_json(const struct findings *findings, const struct view_options *options, FILE *out,
                         struct error *err)
{
    struct json *json = json_new(out);
    size_t matching = 0;
    json_object(json, NULL);
    report_json_head(json, findings->facts->flow, options);
    verdict_put(json, findings);
    json_array(json, "patterns");
    array_each (&findings->items, const struct finding, finding) {
        if (!pattern_passes(findings, finding, &options->filter))
            continue;
        matching++;
        if (options->limit == 0 || matching <= options->limit)
            put_finding(json, findings, finding);
    }
    json_end(json);
    put_undecided(json, findings, options);
    json_number(json, "matching", matching);
    return json_finish(json, err);
}

int view_patterns(const struct flow *flow, const struct view_options *options, FILE *out, struct error *err)
{
    struct findings *findings = findings_of(flow, options->machine, err);
    if (!findings)
        return -1;
    int failed = 0;
    if (options->json) {
        failed = patterns_json(findings, options, out, err);
    } else {
        patterns_text(findings, options, out);
        failed = report_flush(out, err);
    }
    findings_free(findings);
    return failed;
}
