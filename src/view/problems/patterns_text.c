/* view/problems/patterns_text.c - findings for people: what, where, how much, the evidence, what to do and what not. */
#include "analysis/facts/claim.h"
#include "analysis/thresholds.h"
#include "base/text.h"
#include "predict/first_line.h"
#include "base/number.h"
#include "view/paragraph.h"
#include "view/problems/patterns.h"
#include "view/report/report.h"
#include "view/whole.h"

#include <ctype.h>
#include <string.h>

enum { SHORT = 3, SHORT_UNDECIDED = 2, SHORT_HANG = 5, INDENT = 4, HANG = 14 };

static const char *bold(const struct view_options *options, bool on)
{
    return !options->color ? "" : on ? "\033[1m" : "\033[0m";
}

static const char *verdict_color(const struct findings *findings, const struct view_options *options)
{
    bool open = !findings->decided || (findings->matters == MATTERS_UNDECIDED && !findings->numa_bound);
    return !options->color ? "" : open ? "\033[1;33m" : findings->numa_bound ? "\033[1;31m" : "\033[1;32m";
}

/* "31.0% of run time"; on a machine "Memory of node 0 is asked for 0.7 times what it can deliver instead of 2.6" */
static char *cost(const struct finding *finding)
{
    if (finding->then_text)
        return mem_strdup(finding->then_text);
    return finding->lost_time_share < 0.0005 ? mem_strdup("Less than 0.1% of run time")
                                             : mem_format("%.1f%% of run time", 100 * finding->lost_time_share);
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
    if (subject->instances > 1 && flow_object_thread_local(object))
        return mem_format(": %s %s in each of %s threads", number_bytes(object->size), view_object_kind(object),
                          number_count(subject->instances));
    return mem_format(": %s %s", number_bytes(object->size), view_object_kind(object));
}

static void put_finding(const struct findings *findings, const struct finding *finding, size_t number,
                        const struct view_options *options, FILE *out)
{
    unsigned width = options->width;
    char *subject = pattern_subject(finding), *safe = text_safe(subject), *much = cost(finding);
    char *text = capital(pattern_text(finding->pattern)), *size = what(findings, finding);
    fprintf(out, "\n%2zu  %s%s  %s%s\n", number, bold(options, true), pattern_name(finding->pattern), safe,
            bold(options, false));
    paragraph(out, INDENT, width, "", "%s%s.", text, size);
    paragraph(out, INDENT, width, "", "%s, %.1f%% of the remote accesses; %s (%.0f%%, from %s bursts).", much,
              100 * finding->share_of_remote, claim_word(finding->confidence), 100 * finding->confidence,
              number_count(finding->bursts));
    paragraph_labelled(out, "Evidence", INDENT, HANG, width, "%s", finding->evidence);
    if (finding->instead)
        paragraph_labelled(out, "Do this", INDENT, HANG, width, "%s", finding->instead);
    array_each (&finding->advice, const struct advice, advice) {
        char *action = capital(action_text(advice->action));
        bool is_first = advice == finding->advice.items && !finding->instead;
        paragraph_labelled(out, is_first ? "Do this" : "Or", INDENT, HANG, width, "%s: %s.", action, advice->why);
        paragraph_code(out, HANG + 2, width, advice->code);
        free(action);
    }
    if (finding->advice.count == 0 && !finding->instead)
        paragraph_labelled(out, "Do this", INDENT, HANG, width,
                           "Nothing: such changes win less than %.0f%% here, which no run would show.",
                           100 * thresholds.worth_changing);
    array_each (&finding->against, const struct advice, advice)
        paragraph_labelled(out, advice == finding->against.items ? "Not this" : "", INDENT, HANG, width, "%s.",
                           strncmp(advice->why, "not ", 4) == 0 ? advice->why + 4 : advice->why);
    if (finding->then_text)
        paragraph_labelled(out, "Gain", INDENT, HANG, width, "%s, on %s. Latency only: %c%s", finding->then_text,
                           findings->machine, tolower(*finding->gain), *finding->gain ? finding->gain + 1 : "");
    else
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
    if (*findings->decide && (number || !findings->decided))
        paragraph(out, indent, options->width, "", "To decide: %s", findings->decide);
}

/* Each sentence begins a line. */
static void put_verdict(const struct findings *findings, const struct view_options *options, unsigned indent, FILE *out)
{
    const char *color = verdict_color(findings, options);
    for (const char *line = findings->verdict_lines ? findings->verdict_lines : findings->verdict; *line;) {
        size_t length = strcspn(line, "\n");
        paragraph(out, indent, options->width, color, "%.*s", (int)length, line);
        line += length + (line[length] == '\n');
        color = "";
    }
}

void patterns_text(const struct findings *findings, const struct view_options *options, FILE *out)
{
    size_t number = 0, count = matching(findings, options);
    const struct topology *topology = flow_topology(findings->facts->flow);
    put_verdict(findings, options, 0, out);
    if (count == 0)
        paragraph(out, 0, options->width, "", "%s%s.",
                  findings->undecided.count ? "No pattern is certain enough to be named" : "No problem was found",
                  findings->items.count ? " that matches" : "");
    else
        fprintf(out, "%zu finding%s%s, worst first%s\n", count, count == 1 ? "" : "s",
                findings->numa_bound || topology->node_count < 2 ? "" : " anyway",
                topology->simulated ? " (simulated topology):" : ":");
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

/* Two lines each: what, where, which part of the remote accesses; how much time, what to do, with the reason where it
 * fits. */
static void put_short(const struct finding *finding, size_t number, const struct view_options *options, FILE *out)
{
    char *subject = pattern_subject(finding), *much = cost(finding), *action = NULL, *whole = NULL;
    char label[16];
    snprintf(label, sizeof label, "%zu", number);
    paragraph_labelled(out, label, 2, SHORT_HANG, options->width, "%s %s: %.1f%% of the remote accesses",
                       pattern_name(finding->pattern), subject, 100 * finding->share_of_remote);
    if (finding->instead) {
        whole = mem_format("%s. %s", much, finding->instead);
    } else if (finding->advice.count) {
        action = capital(action_text(finding->advice.items[0].action));
        whole = mem_format("%s. %s: %s.", much, action, finding->advice.items[0].why);
    }
    bool fits = whole && (finding->instead || options->width == 0 || SHORT_HANG + text_width(whole) <= options->width);
    if (fits)
        paragraph(out, SHORT_HANG, options->width, "", "%s", whole);
    else
        paragraph(out, SHORT_HANG, options->width, "", "%s.%s%s%s", much, action ? " " : "", action ? action : "",
                  action ? "." : "");
    free(whole);
    free(action);
    free(much);
    free(subject);
}

int report_judge(struct findings **findings, const struct flow *flow, const struct view_options *options,
                 struct error *err)
{
    *findings = NULL;
    /* Facts take their time: on one node, where nothing can be remote, they are for those who ask. */
    if (flow_totals(flow).home_known == 0 || flow_topology(flow)->node_count < 2)
        return 0;
    *findings = findings_of(flow, options->machine, err);
    return *findings ? 0 : -1;
}

void report_verdict(const struct findings *findings, const struct view_options *options, FILE *out)
{
    if (findings)
        put_verdict(findings, options, 2, out);
}

/* Whose gain it is: lines of findings have no room for it. */
static void put_heading(const struct findings *findings, const struct view_options *options, FILE *out)
{
    bool then = false;
    array_each (&findings->items, const struct finding, finding)
        then |= finding->then_text != NULL;
    char *safe = text_safe(findings->machine ? findings->machine : "");
    fprintf(out, "\n%sFindings (worst first%s%s)%s\n", bold(options, true), then ? "; each alone, on " : "",
            then ? safe : "", bold(options, false));
    free(safe);
}

void report_findings(const struct findings *findings, const struct view_options *options, FILE *out)
{
    if (!findings)
        return;
    if (findings->items.count)
        put_heading(findings, options, out);
    else if (findings->undecided.count || (*findings->decide && !findings->decided))
        fputc('\n', out);
    for (size_t i = 0; i < findings->items.count && i < SHORT; i++)
        put_short(&findings->items.items[i], i + 1, options, out);
    if (findings->items.count > SHORT)
        fprintf(out, "%*s%zu more\n", SHORT_HANG, "", findings->items.count - SHORT);
    put_undecided(findings, options, 2, SHORT_UNDECIDED, out);
}
