#include "lib/sampling/kept_events.h"

#include "trace/event_copy.h"

void kept_add(struct kept *kept, const struct event *event)
{
    array_push(&kept->events, event_copy(event));
    if (event->kind != EVENT_STACK)
        return;
    const struct event_stack *stack = &event->stack;
    while (kept->ips.count <= stack->id)
        array_push(&kept->ips, 0);
    kept->ips.items[stack->id] = stack->depth ? stack->frames[0] : 0;
}

uint64_t kept_ip(const struct kept *kept, uint32_t stack)
{
    return stack < kept->ips.count ? kept->ips.items[stack] : 0;
}
