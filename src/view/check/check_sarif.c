/* view/check/check_sarif.c - SARIF 2.1.0 (OASIS), as code-review tools and editors show it: each finding at the line that allocates
 * the object. Rules of SARIF are patterns of findings and the rules of the command about the whole run; what cannot be decided is a notification. */
#include "view/check/check_view.h"

#include "base/json.h"
#include "base/text.h"
#include "view/problems/patterns.h"

#include <stdio.h>
#include <string.h>

static const enum check_kind LAST_OF_RUN = CHECK_NOT_SLOWED; /* of the rules about the whole run, which come first */

/* A plain text message: "[text](target)" in it would be a link (section 3.11.6), and names are the program's. */
static void put_message(struct json *json, const char *key, const char *text)
{
    char *plain = mem_alloc(2 * strlen(text) + 1), *out = plain;
    for (; *text; text++) {
        *out++ = *text;
        if (text[0] == ']' && text[1] == '(')
            *out++ = ' ';
    }
    *out = '\0';
    json_object(json, key);
    json_text(json, "text", plain);
    json_end(json);
    free(plain);
}

static void put_rule(struct json *json, const char *id, const char *text, const char *help, const char *level)
{
    json_object(json, NULL);
    json_text(json, "id", id);
    put_message(json, "shortDescription", text);
    put_message(json, "help", help);
    json_object(json, "defaultConfiguration");
    json_text(json, "level", level);
    json_end(json);
    json_end(json);
}

static void put_driver(struct json *json)
{
    json_object(json, "tool");
    json_object(json, "driver");
    json_text(json, "name", "numalens");
    json_text(json, "version", NUMALENS_VERSION);
    json_array(json, "rules");
    for (unsigned pattern = 0; pattern < PATTERNS; pattern++) {
        char *help = mem_format(
            "NUMA pattern %s: %s. 'numalens report patterns' prints the evidence, the code to change and the "
            "gain; docs/patterns.md explains the pattern.",
            pattern_name((enum pattern)pattern), pattern_text((enum pattern)pattern));
        put_rule(json, pattern_name((enum pattern)pattern), pattern_text((enum pattern)pattern), help, "warning");
        free(help);
    }
    for (unsigned kind = 0; kind <= (unsigned)LAST_OF_RUN; kind++)
        put_rule(json, check_kind_name((enum check_kind)kind), check_kind_text((enum check_kind)kind),
                 "A rule that was given to 'numalens check'; docs/compare.md explains how it is judged.", "error");
    json_end(json);
    json_end(json);
    json_end(json);
}

static struct source_file file_of(const struct check_shown *shown, const struct finding *finding)
{
    const struct facts_subject *subject = finding->subject;
    if (!subject)
        return (struct source_file){finding->file, "", ""};
    const struct flow *flow = shown->findings->facts->flow;
    const struct flow_process *process = flow_process(flow, subject->process);
    return (struct source_file){finding->file,
                                subject->site != FLOW_NONE ? flow_site(flow, subject->site)->directory : "",
                                process ? process->exe : ""};
}

static bool placed(const struct finding *finding)
{
    return finding->file && *finding->file && finding->line;
}

static void put_location(struct json *json, const struct check_shown *shown, const struct finding *finding)
{
    json_array(json, "locations");
    if (finding && placed(finding)) {
        struct source_file file = file_of(shown, finding);
        char *uri = check_source_uri(&file, shown->root);
        json_object(json, NULL);
        json_object(json, "physicalLocation");
        json_object(json, "artifactLocation");
        json_text(json, "uri", uri);
        if (strncmp(uri, "file:", 5) != 0)
            json_text(json, "uriBaseId", "%SRCROOT%");
        json_end(json);
        json_object(json, "region");
        json_number(json, "startLine", finding->line);
        json_end(json);
        json_end(json);
        json_end(json);
        free(uri);
    }
    json_end(json);
}

/* What it is, the evidence, what to do. */
static char *message(const struct check_finding *item)
{
    const struct finding *finding = item->finding;
    char *what = check_finding_text(item);
    bool advised = finding->advice.count > 0, shown = finding->evidence && *finding->evidence;
    char *text =
        mem_format("%s.%s%s%s%s%s", what, shown ? " " : "", shown ? finding->evidence : "", advised ? " To do: " : "",
                   advised ? action_text(finding->advice.items[0].action) : "", advised ? "." : "");
    free(what);
    return text;
}

static void put_finding(struct json *json, const struct check_shown *shown, const struct check_finding *item)
{
    const struct finding *finding = item->finding;
    char *text = message(item);
    json_object(json, NULL);
    json_text(json, "ruleId", pattern_name(finding->pattern));
    json_number(json, "ruleIndex", finding->pattern);
    json_text(json, "level", item->fails ? "error" : "warning");
    put_message(json, "message", text);
    free(text);
    put_location(json, shown, finding);
    /* By names and not by lines, which every commit moves. */
    text = mem_format("%s:%s:%s", pattern_name(finding->pattern), finding->name,
                      text_file_name(finding->file ? finding->file : ""));
    json_object(json, "partialFingerprints");
    json_text(json, "numalens/v1", text);
    json_end(json);
    free(text);
    if (item->compared && item->fate != FATE_UNSURE)
        json_text(json, "baselineState", item->fate == FATE_NEW ? "new" : "unchanged");
    json_object(json, "properties");
    json_real(json, "share_of_remote", finding->share_of_remote, 6);
    json_real(json, "lost_time_share", finding->lost_time_share, 6);
    json_real(json, "confidence", finding->confidence, 3);
    json_end(json);
    json_end(json);
}

/* A rule about the whole run that fails is shown where the worst finding with a line is. */
static void put_whole_run(struct json *json, const struct check_shown *shown, const struct check_rule *rule)
{
    const struct finding *worst = NULL;
    array_each (&shown->check->findings, const struct check_finding, item)
        if (!worst && placed(item->finding))
            worst = item->finding;
    char *text = mem_format("%s: %s.", rule->title, rule->text);
    json_object(json, NULL);
    json_text(json, "ruleId", check_kind_name(rule->kind));
    json_number(json, "ruleIndex", PATTERNS + rule->kind);
    json_text(json, "level", "error");
    put_message(json, "message", text);
    put_location(json, shown, worst);
    json_end(json);
    free(text);
}

static void put_invocation(struct json *json, const struct check_shown *shown)
{
    json_array(json, "invocations");
    json_object(json, NULL);
    json_bool(json, "executionSuccessful", shown->check->outcome != CHECK_UNDECIDED);
    json_integer(json, "exitCode", shown->status);
    json_array(json, "toolExecutionNotifications");
    array_each (&shown->check->rules, const struct check_rule, rule) {
        if (rule->outcome != CHECK_UNDECIDED)
            continue;
        char *text = mem_format("%s: %s.", rule->title, rule->text);
        json_object(json, NULL);
        json_text(json, "level", "error");
        put_message(json, "message", text);
        json_end(json);
        free(text);
    }
    json_end(json);
    json_end(json);
    json_end(json);
}

int check_sarif(const struct check_shown *shown, FILE *out, struct error *err)
{
    struct json *json = json_new(out);
    json_object(json, NULL);
    json_text(json, "$schema", "https://json.schemastore.org/sarif-2.1.0.json");
    json_text(json, "version", "2.1.0");
    json_array(json, "runs");
    json_object(json, NULL);
    put_driver(json);
    put_invocation(json, shown);
    json_array(json, "results");
    array_each (&shown->check->rules, const struct check_rule, rule)
        if (rule->outcome == CHECK_FAILS && rule->kind <= LAST_OF_RUN)
            put_whole_run(json, shown, rule);
    array_each (&shown->check->findings, const struct check_finding, finding)
        put_finding(json, shown, finding);
    json_end(json);
    json_text(json, "columnKind", "unicodeCodePoints");
    return json_finish(json, err);
}
