#include "lib/sampling/kept_events.h"

#include <string.h>

static void keep_text(const char **text)
{
    *text = mem_strdup(*text ? *text : "");
}

static void keep_chain(struct kept *kept, struct event_stack *stack)
{
    size_t bytes = stack->depth * sizeof *stack->frames;
    uint64_t *frames = mem_alloc(bytes ? bytes : 1);
    memcpy(frames, stack->frames, bytes);
    stack->frames = frames;
    while (kept->ips.count <= stack->id)
        array_push(&kept->ips, 0);
    kept->ips.items[stack->id] = stack->depth ? frames[0] : 0;
}

void kept_add(struct kept *kept, const struct event *event)
{
    struct event copy = *event;
    switch (copy.kind) {
    case EVENT_PROCESS_START:
        keep_text(&copy.process.exe);
        keep_text(&copy.process.command);
        break;
    case EVENT_THREAD_START:
    case EVENT_THREAD_NAME:
        keep_text(&copy.thread.name);
        break;
    case EVENT_MODULE_LOAD:
    case EVENT_MODULE_UNLOAD:
        keep_text(&copy.module.path);
        break;
    case EVENT_MAP:
    case EVENT_UNMAP:
        keep_text(&copy.map.path);
        break;
    case EVENT_STACK:
        keep_chain(kept, &copy.stack);
        break;
    default:
        break;
    }
    array_push(&kept->events, copy);
}

uint64_t kept_ip(const struct kept *kept, uint32_t stack)
{
    return stack < kept->ips.count ? kept->ips.items[stack] : 0;
}
