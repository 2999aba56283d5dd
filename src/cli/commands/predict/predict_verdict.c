/* See predict_verdict.h. */
#include "cli/commands/predict/predict_verdict.h"

#include "base/mem.h"
#include "predict/first_line.h"
#include "view/problems/patterns.h"

#include <stdlib.h>

static char *copy(const char *text)
{
    return text ? mem_strdup(text) : NULL;
}

int predict_verdict_make(struct predict_verdict *verdict, const struct flow *flow, const struct model *machine,
                         struct error *err)
{
    struct findings *findings = findings_of(flow, machine, err);
    if (!findings)
        return err->code;
    *verdict = (struct predict_verdict){.matters = findings->matters,
                                        .text = mem_format("%s.", findings_first_line(findings)),
                                        .grade = copy(findings->grade),
                                        .bottleneck = copy(findings->bottleneck)};
    findings_free(findings);
    return 0;
}

void predict_verdict_put(const struct predict_verdict *verdict, struct json *json)
{
    verdict_put_head(json, verdict->matters, verdict->grade, verdict->bottleneck);
    json_text(json, "text", verdict->text);
    json_end(json);
}

void predict_verdict_free(struct predict_verdict *verdict)
{
    free(verdict->text);
    free(verdict->grade);
    free(verdict->bottleneck);
}
