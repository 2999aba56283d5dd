/* flow/ahead.c - most of the time of a report would go into waiting for memory: for a block's place in the tree, then for
 * its record. So events of blocks wait in a short queue. When one enters, its place is asked for; when it is
 * halfway, the place has come, and the record is asked for; when it leaves, both are there. */
#include "flow/state.h"

enum { QUEUE = 16, HALFWAY = QUEUE / 2 };

struct ahead {
    struct flow *flow;
    uint32_t in, out;               /* count up */
    uint64_t asked_page;            /* of the last whose record was asked for */
    const struct process *process;  /* of the last one that came in, */
    struct addrtree_spot last_spot; /* and its place: accesses of a burst are mostly near one another */
    struct {
        struct event event;
        struct addrtree_spot spot;
        const struct process *process;
    } waiting[QUEUE];
};

struct ahead *ahead_new(struct flow *flow)
{
    struct ahead *ahead = mem_zalloc(sizeof *ahead);
    ahead->flow = flow;
    return ahead;
}

static void drain(struct ahead *ahead, uint32_t keep)
{
    while (ahead->in - ahead->out > keep) {
        uint32_t at = ahead->out++ % QUEUE;
        ahead->flow->spot = ahead->waiting[at].spot;
        flow_feed(ahead->flow, &ahead->waiting[at].event);
    }
    ahead->flow->spot = ADDRTREE_NOWHERE;
}

static uint64_t address_of(const struct event *event)
{
    return event->kind == EVENT_ALLOC  ? event->alloc.addr
           : event->kind == EVENT_FREE ? event->free.addr
                                       : event->sample.addr;
}

static void ask_for_record(struct ahead *ahead, uint32_t at)
{
    const struct event *event = &ahead->waiting[at].event;
    const struct process *process = ahead->waiting[at].process;
    uint64_t page = address_of(event) >> PAGES_SHIFT;
    uint32_t record;
    bool asked = event->kind == EVENT_SAMPLE && page == ahead->asked_page; /* mostly for the same record */
    ahead->asked_page = page;
    if (!asked && event->kind != EVENT_ALLOC &&
        addrtree_peek(&process->heap, ahead->waiting[at].spot, address_of(event), &record))
        __builtin_prefetch(pool_at(&ahead->flow->records, record), 1);
}

struct event *ahead_slot(struct ahead *ahead)
{
    drain(ahead, QUEUE - 1);
    return &ahead->waiting[ahead->in % QUEUE].event;
}

void ahead_feed(struct ahead *ahead)
{
    struct flow *flow = ahead->flow;
    uint32_t at = ahead->in % QUEUE;
    const struct event *event = &ahead->waiting[at].event;
    if (event->kind != EVENT_ALLOC && event->kind != EVENT_FREE && event->kind != EVENT_SAMPLE) {
        drain(ahead, 0); /* its texts are good only now; and it may change which process a pid is */
        flow_feed(flow, event);
        ahead->process = NULL;
        return;
    }
    ahead->in++;
    const struct process *process = live_process_of(flow, event->pid, event->time);
    ahead->waiting[at].process = process;
    struct addrtree_spot near = ahead->process == process ? ahead->last_spot : ADDRTREE_NOWHERE;
    ahead->last_spot = ahead->waiting[at].spot = addrtree_seek_near(&process->heap, near, address_of(event));
    ahead->process = process;
    if (ahead->in - ahead->out > HALFWAY)
        ask_for_record(ahead, (ahead->in - 1 - HALFWAY) % QUEUE);
}

void ahead_free(struct ahead *ahead)
{
    drain(ahead, 0);
    free(ahead);
}
