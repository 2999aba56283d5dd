#include "view/report/report_span.h"

#include <inttypes.h>
#include <stdio.h>

/* False when the report is of the whole run. */
static bool span_of(const struct flow *flow, const struct view_options *options, struct span *span)
{
    const struct trace_session *session = flow_session(flow);
    uint64_t first = session ? trace_session_number(session, "part", 0) : 0;
    uint64_t begun = session ? trace_session_number(session, "start_clock_ns", flow_start(flow)) : flow_start(flow);
    *span = (struct span){.windowed = flow_windowed(flow), .first = first};
    if (first)
        span->last = first + trace_session_number(session, "parts", 1) - 1;
    span->goes_on = first && (!options->ending || trace_session_get(options->ending, "next_part"));
    span->start_s = flow_start(flow) > begun ? (double)(flow_start(flow) - begun) * 1e-9 : 0;
    span->end_s = flow_end(flow) > begun ? (double)(flow_end(flow) - begun) * 1e-9 : 0;
    return span->windowed || first > 1 || span->goes_on;
}

void span_text(const struct flow *flow, const struct view_options *options, char *text, size_t room)
{
    struct span span;
    char files[160] = "";
    *text = 0;
    if (!span_of(flow, options, &span))
        return;
    if (span.first == 1 && !span.goes_on)
        *files = 0; /* all of them */
    else if (span.first && span.first == span.last)
        snprintf(files, sizeof files, "; file %" PRIu64 " of the recording", span.first);
    else if (span.first)
        snprintf(files, sizeof files, "; files %" PRIu64 " to %" PRIu64 " of the recording", span.first, span.last);
    size_t used =
        (size_t)snprintf(text, room, "Only from %.1f s to %.1f s of the run%s", span.start_s, span.end_s, files);
    if (span.first > 1 || span.goes_on)
        snprintf(text + used, room - used, "; %s not in this report.",
                 span.first > 1 && span.goes_on ? "those before and behind are"
                 : span.first > 2               ? "those before are"
                 : span.first == 2              ? "the one before is"
                                                : "those behind are");
    else
        snprintf(text + used, room - used, ".");
}

void span_json(struct json *json, const struct flow *flow, const struct view_options *options)
{
    struct span span;
    if (!span_of(flow, options, &span))
        return;
    json_object(json, "span");
    json_real(json, "start_s", span.start_s, 6);
    json_real(json, "end_s", span.end_s, 6);
    if (span.first) {
        json_number(json, "first_file", span.first);
        json_number(json, "last_file", span.last);
        json_bool(json, "goes_on", span.goes_on);
    }
    json_end(json);
}
