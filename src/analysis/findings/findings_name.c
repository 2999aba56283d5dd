/* analysis/findings/findings_name.c - what a finding is about, in the words of the source. */
#include "analysis/findings/findings_internal.h"
#include "analysis/names/sources.h"

void finding_name(struct findings *findings, struct finding *finding, struct sources *sources)
{
    const struct flow *flow = findings->facts->flow;
    const struct facts_subject *subject = finding->subject;
    const struct flow_object *object = flow_object(flow, subject->object);
    const struct flow_site *site = subject->site != FLOW_NONE ? flow_site(flow, subject->site) : NULL;
    char name[SOURCE_NAME_MAX];
    finding->via = site ? site->via : "";
    finding->by_new = object && (object->alloc_fn == ALLOC_NEW || object->alloc_fn == ALLOC_NEW_ARRAY);
    finding->function = site ? site->function : "";
    finding->file = site ? site->file : object ? object->file : "";
    finding->line = site ? site->line : object ? object->line : 0;
    const struct flow_process *process = flow_process(flow, subject->process);
    const char *module = process ? process->exe : "";
    finding->named = true;
    if (site && finding->line &&
        sources_name(sources, finding->file, finding->line, (struct source_twin){site->twin, site->twins}, module,
                     name)) {
        finding->name = findings_text(findings, "%s", name);
        return;
    }
    finding->named = object && object->kind == OBJECT_STATIC;
    const struct flow_thread *owner = object && object->kind == OBJECT_STACK && object->alloc_thread != FLOW_NONE
                                          ? flow_thread(flow, object->alloc_thread)
                                          : NULL;
    if (owner && *owner->name)
        finding->name = findings_text(findings, "stack of %s", owner->name);
    else if (!site)
        finding->name = object ? object->name : "";
    else if (object && object->kind == OBJECT_FILE && !finding->is_site)
        finding->name = object->name;
    else
        finding->name = *site->function ? site->function : site->label;
}
