/* view/check/check_text.c - numalens check for people: the answer, then rule by rule, then the findings that a rule fails for. */
#include "view/check/check_view.h"

#include "base/text.h"
#include "view/paragraph.h"
#include "view/problems/patterns.h"
#include "view/report/report.h"

#include <string.h>

enum { INDENT = 2, HANG = 13, FINDING_HANG = 15, MOST_FINDINGS = 20 };

char *check_finding_text(const struct check_finding *finding)
{
    char *subject = pattern_subject(finding->finding);
    char *text = mem_format("%s on %s: %s", pattern_name(finding->finding->pattern), subject,
                            pattern_text(finding->finding->pattern));
    free(subject);
    return text;
}

static const char *color(const struct view_options *options, enum check_outcome outcome)
{
    return !options->color              ? ""
           : outcome == CHECK_HOLDS     ? "\033[1;32m"
           : outcome == CHECK_UNDECIDED ? "\033[1;33m"
                                        : "\033[1;31m";
}

static void put_finding(const struct check_finding *finding, const struct view_options *options, FILE *out)
{
    char *text = check_finding_text(finding);
    const char *evidence = finding->compared && *finding->why ? finding->why : finding->finding->evidence;
    paragraph(out, HANG, options->width, "", "%s", text);
    if (evidence && *evidence)
        paragraph(out, FINDING_HANG, options->width, "", "%s%s", evidence,
                  evidence[strlen(evidence) - 1] == '.' ? "" : ".");
    if (finding->finding->advice.count) {
        const char *advice = action_text(finding->finding->advice.items[0].action);
        paragraph(out, FINDING_HANG, options->width, "", "To do: %s.", advice);
    }
    free(text);
}

static bool belongs(const struct check_rule *rule, const struct check_finding *finding)
{
    return rule->outcome == CHECK_FAILS &&
           (rule->kind == CHECK_NO_FINDINGS ||
            (rule->kind == CHECK_NO_NEW_FINDINGS && finding->compared && finding->fate == FATE_NEW));
}

int check_text(const struct check_shown *shown, const struct view_options *options, FILE *out, struct error *err)
{
    static const char *const words[] = {"holds", "does not hold", "cannot be decided"};
    const struct check *check = shown->check;
    char *path = text_safe(shown->path);
    fprintf(out, "%s%s%s: %s\n", color(options, check->outcome), words[check->outcome], options->color ? "\033[0m" : "",
            path);
    free(path);
    array_each (&check->rules, const struct check_rule, rule) {
        size_t number = 0;
        paragraph_labelled(out, check_outcome_name(rule->outcome), INDENT, HANG, options->width, "%s: %s", rule->title,
                           rule->text);
        array_each (&check->findings, const struct check_finding, finding)
            if (belongs(rule, finding) && ++number <= MOST_FINDINGS)
                put_finding(finding, options, out);
        if (number > MOST_FINDINGS)
            fprintf(out, "%*s%zu more: --json\n", HANG, "", number - MOST_FINDINGS);
    }
    return report_flush(out, err);
}
