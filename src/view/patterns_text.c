/* view/patterns_text.c - findings for people: what, where, how much, the evidence, what to do and what not. */
#include "analysis/claim.h"
#include "base/text.h"
#include "view/number.h"
#include "view/paragraph.h"
#include "view/patterns.h"
#include "view/report.h"
#include "view/whole.h"

#include <string.h>

enum { SHORT = 3, INDENT = 4, HANG = 14 };

static const char *bold(const struct view_options *options, bool on)
{
    return !options->color ? "" : on ? "\033[1m" : "\033[0m";
}

static const char *gate_color(const struct findings *findings, const struct view_options *options)
{
    return !options->color           ? ""
           : !findings->gate_decided ? "\033[1;33m"
           : findings->numa_bound    ? "\033[1;31m"
                                     : "\033[1;32m";
}

/* "97.1% of the remote accesses, up to 31% of the time" */
static char *amount(const struct finding *finding)
{
    char time[64] = "hardly any time";
    if (finding->lost_time_share >= 0.0005)
        snprintf(time, sizeof time, "up to %.1f%% of the time", 100 * finding->lost_time_share);
    return mem_format("%.1f%% of the remote accesses, %s", 100 * finding->share_of_remote, time);
}

static void put_code(FILE *out, const char *code, unsigned indent)
{
    while (*code) {
        size_t size = strcspn(code, "\n");
        char *line = mem_format("%.*s", (int)size, code), *safe = text_safe(line);
        fprintf(out, "%*s%s\n", (int)indent, "", safe);
        free(safe);
        free(line);
        code += size + (code[size] == '\n');
    }
}

static char *capital(const char *text)
{
    char *copy = mem_strdup(text);
    if (*copy >= 'a' && *copy <= 'z')
        *copy = (char)(*copy - 'a' + 'A');
    return copy;
}

/* "8 pieces, 64 MiB, heap" */
static char *what(const struct findings *findings, const struct finding *finding)
{
    const struct flow *flow = findings->facts->flow;
    const struct facts_subject *subject = finding->subject;
    const struct flow_object *object = subject ? flow_object(flow, subject->object) : NULL;
    if (!object)
        return mem_format("%s", "");
    const struct flow_site *site = subject->site != FLOW_NONE ? flow_site(flow, subject->site) : NULL;
    if (finding->is_site && site)
        return mem_format(": %s %s, %s pieces", number_bytes(site->peak_bytes), view_kind_name(object->kind),
                          number_count(site->count));
    return mem_format(": %s %s", number_bytes(object->size), view_kind_name(object->kind));
}

static void put_finding(const struct findings *findings, const struct finding *finding, size_t number,
                        const struct view_options *options, FILE *out)
{
    unsigned width = options->width;
    char *subject = pattern_subject(finding), *safe = text_safe(subject), *much = amount(finding);
    char *text = capital(pattern_text(finding->pattern)), *size = what(findings, finding);
    fprintf(out, "\n%2zu  %s%s  %s%s\n", number, bold(options, true), pattern_name(finding->pattern), safe,
            bold(options, false));
    paragraph(out, INDENT, width, "", "%s%s.", text, size);
    paragraph(out, INDENT, width, "", "%s; %s (%.0f%%, from %s bursts).", much, claim_word(finding->confidence),
              100 * finding->confidence, number_count(finding->bursts));
    paragraph_labelled(out, "Evidence", INDENT, HANG, width, "%s", finding->evidence);
    array_each (&finding->advice, const struct advice, advice) {
        char *action = capital(action_text(advice->action));
        paragraph_labelled(out, advice == finding->advice.items ? "Do this" : "Or", INDENT, HANG, width, "%s: %s.",
                           action, advice->why);
        put_code(out, advice->code, HANG + 2);
        free(action);
    }
    array_each (&finding->against, const struct advice, advice)
        paragraph_labelled(out, advice == finding->against.items ? "Not that" : "", INDENT, HANG, width, "%s.",
                           strncmp(advice->why, "not ", 4) == 0 ? advice->why + 4 : advice->why);
    paragraph_labelled(out, "Gain", INDENT, HANG, width, "%s", finding->gain);
    free(size);
    free(text);
    free(much);
    free(safe);
    free(subject);
}

static size_t matching(const struct findings *findings, const struct view_options *options)
{
    size_t count = 0;
    array_each (&findings->items, const struct finding, finding)
        count += pattern_passes(findings, finding, &options->filter);
    return count;
}

/* One line a subject: how many bursts there are, how many would decide; then the command that gets them. */
static void put_undecided(const struct findings *findings, const struct view_options *options, unsigned indent,
                          size_t most, FILE *out)
{
    size_t number = 0;
    array_each (&findings->undecided, const struct undecided, undecided) {
        if (!pattern_passes(findings, &undecided->finding, &options->filter) || ++number > most)
            continue;
        char *subject = pattern_subject(&undecided->finding);
        paragraph(out, indent, options->width, "",
                  "Undecided: %s, %.1f%% of the remote accesses: %s burst%s, about %s would decide its pattern.",
                  subject, 100 * undecided->finding.share_of_remote, number_count(undecided->bursts),
                  undecided->bursts == 1 ? "" : "s", number_count(undecided->needed));
        free(subject);
    }
    if (number > most)
        fprintf(out, "%*sand %s more undecided\n", (int)indent, "", number_count(number - most));
    if (*findings->decide && (number || !findings->gate_decided))
        paragraph(out, indent, options->width, "", "To decide: %s", findings->decide);
}

void patterns_text(const struct findings *findings, const struct view_options *options, FILE *out)
{
    size_t number = 0, count = matching(findings, options);
    const struct topology *topology = flow_topology(findings->facts->flow);
    paragraph(out, 0, options->width, gate_color(findings, options), "%s", findings->gate);
    if (count == 0)
        paragraph(out, 0, options->width, "", "No pattern was found%s.", findings->items.count ? " that matches" : "");
    else
        fprintf(out, "%zu finding%s%s, worst first%s\n", count, count == 1 ? "" : "s",
                findings->numa_bound || topology->node_count < 2 ? "" : " all the same",
                topology->pretended ? " (pretended topology):" : ":");
    array_each (&findings->items, const struct finding, finding) {
        if (!pattern_passes(findings, finding, &options->filter))
            continue;
        number++;
        if (options->limit == 0 || number <= options->limit)
            put_finding(findings, finding, number, options, out);
    }
    if (options->limit && count > options->limit)
        fprintf(out, "\n%s more\n", number_count(count - options->limit));
    if (findings->undecided.count || *findings->decide)
        fputc('\n', out);
    put_undecided(findings, options, 0, options->limit ? options->limit : SIZE_MAX, out);
}

static void in_short(const struct findings *findings, const struct view_options *options, FILE *out)
{
    size_t number = 0;
    array_each (&findings->items, const struct finding, finding) {
        if (++number > SHORT)
            break;
        char *subject = pattern_subject(finding), *much = amount(finding);
        char label[8];
        snprintf(label, sizeof label, "%zu.", number);
        paragraph_labelled(out, label, 2, 5, options->width, "%s %s: %s.", pattern_name(finding->pattern), subject,
                           much);
        if (finding->advice.count) {
            char *action = capital(action_text(finding->advice.items[0].action));
            paragraph(out, 5, options->width, "", "%s: %s.", action, finding->advice.items[0].why);
            free(action);
        }
        free(much);
        free(subject);
    }
    if (findings->items.count > SHORT)
        fprintf(out, "     and %zu more\n", findings->items.count - SHORT);
    put_undecided(findings, options, 2, SHORT, out);
    fputc('\n', out);
}

int report_findings(const struct flow *flow, const struct view_options *options, FILE *out, struct error *err)
{
    /* Facts take their time: on one node, where nothing can be remote, they are for those who ask. */
    if (flow_totals(flow).home_known == 0 || flow_topology(flow)->node_count < 2)
        return 0;
    struct facts *facts = facts_make(flow, err);
    if (!facts)
        return -1;
    struct findings *findings = findings_make(facts);
    paragraph(out, 2, options->width, gate_color(findings, options), "%s", findings->gate);
    in_short(findings, options, out);
    findings_free(findings);
    facts_free(facts);
    return 0;
}
