#include "capture/agent/custom_result.h"

#include <stdio.h>
#include <string.h>

/* Appends a name, and why in brackets. What has no room any more is cut, at a name's end. */
static void add(char *text, size_t room, const char *name, const char *why)
{
    size_t used = strnlen(text, room);
    int wanted = snprintf(text + used, room - used, "%s%s%s%s%s", used ? ", " : "", name, *why ? " (" : "", why,
                          *why ? ")" : "");
    if (wanted < 0 || (size_t)wanted >= room - used)
        text[used] = '\0';
}

void custom_result_report(struct wire_region *region, const struct capture_options *options, uint64_t now, uint32_t pid,
                          struct sink *sink, struct recorder_result *result)
{
    uint64_t missing = 0, refused = 0;
    for (uint32_t i = 0; i < options->custom_count; i++) {
        /* Names from our own options: what is in the region is the target's to change. */
        const char *name = options->custom[i].name;
        struct wire_custom *shared = wire_custom_at(region, i);
        bool any = atomic_load(&shared->hooked) > 0;
        for (unsigned why = 0; why < CUSTOM_REFUSALS; why++) {
            uint32_t count = atomic_load(&shared->refused[why]);
            if (count)
                add(result->custom_refused, sizeof result->custom_refused, name, custom_refusal_text(why));
            refused += count;
            any |= count > 0;
        }
        if (any)
            continue;
        missing++;
        add(result->custom_missing, sizeof result->custom_missing, name, "");
    }
    sink_loss(sink, now, pid, pid, LOSS_FN_MISSING, missing);
    sink_loss(sink, now, pid, pid, LOSS_FN_REFUSED, refused);
}
