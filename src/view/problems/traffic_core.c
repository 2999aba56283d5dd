#include "view/problems/traffic_core.h"

#include "base/json.h"
#include "view/paragraph.h"
#include "view/problems/traffic_words.h"

static void prefetched_text(const struct traffic_core *core, const struct view_options *options, FILE *out)
{
    char loads[64] = "how much its loads asked for was not counted";
    if (core->demanded >= 0)
        snprintf(loads, sizeof loads, "its loads asked for %.2f GB/s themselves", core->demanded / 1e9);
    paragraph(out, 2, options->width, "",
              "Prefetching brought %.2f GB/s from memory for this program (hidden); %s. By the core's events %s, in "
              "user mode.",
              core->prefetched / 1e9, loads, core->events);
}

static void missed_text(const struct traffic_core *core, const struct view_options *options, FILE *out)
{
    char hidden[128] = "how much of it nobody waited for is not known";
    if (core->hidden >= 0)
        snprintf(hidden, sizeof hidden, "at most %.2f GB/s of it in no sample (hidden: prefetched, or read for stores)",
                 core->hidden / 1e9);
    paragraph(
        out, 2, options->width, "",
        "This program's CPUs brought %.2f GB/s from beyond the last cache, %s. By the core's event %s, in user mode; "
        "which prefetches it counts differs by processor.",
        core->missed / 1e9, hidden, core->events);
}

void traffic_core_text(const struct traffic *traffic, const struct view_options *options, FILE *out)
{
    const struct traffic_core *core = &traffic->core;
    if (!core->events) {
        if (core->reason)
            paragraph(out, 2, options->width, "", "What prefetching brought from memory was not counted: %s.",
                      core->reason);
        return;
    }
    if (core->prefetched >= 0)
        prefetched_text(core, options, out);
    else if (core->missed >= 0)
        missed_text(core, options, out);
    else
        paragraph(
            out, 2, options->width, "",
            "This program's loads asked memory for %.2f GB/s, by the core's event %s; what prefetching brought was "
            "not counted.",
            core->demanded / 1e9, core->events);
    if (core->absent)
        paragraph(out, 2, options->width, "", "The kernel does not count %s on this processor: it is absent, not 0.",
                  core->absent);
    if (core->running < 1)
        paragraph(out, 2, options->width, "",
                  "The events were counted for %.0f%% of the time, and are scaled up: others use the counters too.",
                  100 * core->running);
    if (core->part_of_reads >= 0)
        paragraph(out, 2, options->width, "",
                  "That is %.0f%% of what the memory controllers read; the rest is other programs', the kernel's, or "
                  "not counted by the core.",
                  100 * core->part_of_reads);
}

static void put_rate(struct json *json, const char *key, const struct traffic_core *core, double value)
{
    traffic_put_rate(json, key, core->events ? value : -1);
}

void traffic_core_json(const struct traffic *traffic, struct json *json)
{
    const struct traffic_core *core = &traffic->core;
    json_object(json, "core");
    json_text(json, "events", core->events);
    json_text(json, "reason", core->reason);
    json_text(json, "absent", core->absent);
    put_rate(json, "prefetched_bytes_s", core, core->prefetched);
    put_rate(json, "demanded_bytes_s", core, core->demanded);
    put_rate(json, "missed_bytes_s", core, core->missed);
    put_rate(json, "hidden_bytes_s", core, core->hidden);
    if (core->events) {
        json_real(json, "running", core->running, 4);
        json_bool(json, "hidden_at_most", core->prefetched < 0);
    } else {
        json_null(json, "running");
        json_null(json, "hidden_at_most");
    }
    if (core->events && core->part_of_reads >= 0)
        json_real(json, "part_of_reads", core->part_of_reads, 4);
    else
        json_null(json, "part_of_reads");
    json_end(json);
}
