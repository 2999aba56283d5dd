/* flow/ahead.c - most of the time of a report would go into waiting for memory: for a block's place in the tree, then for
 * its record. So events of blocks wait in a short queue. When one enters, it is asked where blocks near its address were
 * found last; a few events later for that leaf; then that is taken, or the right one sought; then its record is asked
 * for; when the event leaves, all is there. */
#include "base/units.h"
#include "flow/state.h"

enum {
    QUEUE = 16,
    LEAF = 3, /* events after it came in */
    SEEK = 7,
    ASK = 11,
    NEAR_BITS = 14,  /* so many leaves are remembered, */
    NEAR_SHIFT = 10, /* each for so much of the address space: mostly less than what a leaf holds */
};

struct waiting_event {
    struct event event;
    struct addrtree_spot spot;
    struct addrtree_node **near;
    struct process *process;
};

struct ahead {
    struct flow *flow;
    uint32_t in, out;    /* count up */
    uint64_t asked_page; /* of the last whose record was asked for */
    struct waiting_event waiting[QUEUE];
    struct addrtree_node *near[1 << NEAR_BITS];
};

struct ahead *ahead_new(struct flow *flow)
{
    struct ahead *ahead = mem_zalloc(sizeof *ahead);
    ahead->flow = flow;
    return ahead;
}

static inline uint64_t address_of(const struct event *event)
{
    return event->kind == EVENT_ALLOC  ? event->alloc.addr
           : event->kind == EVENT_FREE ? event->free.addr
                                       : event->sample.addr;
}

static inline void seek(struct waiting_event *waiting)
{
    struct addrtree_spot near = {*waiting->near, 0};
    waiting->spot = addrtree_seek_near(&waiting->process->heap, near, address_of(&waiting->event));
    *waiting->near = waiting->spot.leaf;
}

static inline void ask_for_record(struct ahead *ahead, struct waiting_event *waiting)
{
    const struct event *event = &waiting->event;
    uint64_t page = address_of(event) >> PAGE_UNIT_SHIFT;
    uint32_t record;
    bool asked = event->kind == EVENT_SAMPLE && page == ahead->asked_page; /* mostly for the same record */
    ahead->asked_page = page;
    if (!asked && event->kind != EVENT_ALLOC &&
        addrtree_peek(&waiting->process->heap, &waiting->spot, address_of(event), &record))
        live_record_prefetch(ahead->flow, record);
}

static inline void feed_first(struct ahead *ahead)
{
    struct waiting_event *waiting = &ahead->waiting[ahead->out++ % QUEUE];
    ahead->flow->spot = waiting->spot;
    if (waiting->event.kind == EVENT_SAMPLE)
        flow_feed(ahead->flow, &waiting->event);
    else
        flow_feed_block(ahead->flow, waiting->process, &waiting->event);
}

/* What waits goes through the steps that it has not come to, and leaves. */
static void drain(struct ahead *ahead)
{
    for (uint32_t at = ahead->in - ahead->out < SEEK ? ahead->out : ahead->in - SEEK; at != ahead->in; at++)
        seek(&ahead->waiting[at % QUEUE]);
    while (ahead->in != ahead->out)
        feed_first(ahead);
    ahead->flow->spot = ADDRTREE_NOWHERE;
}

struct event *ahead_slot(struct ahead *ahead)
{
    if (ahead->in - ahead->out == QUEUE)
        feed_first(ahead);
    return &ahead->waiting[ahead->in % QUEUE].event;
}

void ahead_feed(struct ahead *ahead)
{
    struct flow *flow = ahead->flow;
    struct waiting_event *waiting = &ahead->waiting[ahead->in % QUEUE];
    const struct event *event = &waiting->event;
    if (__builtin_expect(event->kind != EVENT_ALLOC && event->kind != EVENT_FREE && event->kind != EVENT_SAMPLE, 0)) {
        drain(ahead); /* its texts are good only now; and it may change which process a pid is */
        flow_feed(flow, event);
        return;
    }
    uint64_t addr = address_of(event);
    waiting->process = live_process_of(flow, event->pid, event->time);
    uint64_t part = addr >> NEAR_SHIFT ^ (uint64_t)waiting->process->index << 40;
    waiting->near = &ahead->near[part * 0x9e3779b97f4a7c15u >> (64 - NEAR_BITS)];
    __builtin_prefetch(waiting->near);
    uint32_t at = ++ahead->in - 1;
    if (at - ahead->out >= LEAF)
        __builtin_prefetch(*ahead->waiting[(at - LEAF) % QUEUE].near);
    if (at - ahead->out >= SEEK)
        seek(&ahead->waiting[(at - SEEK) % QUEUE]);
    if (at - ahead->out >= ASK)
        ask_for_record(ahead, &ahead->waiting[(at - ASK) % QUEUE]);
}

void ahead_free(struct ahead *ahead)
{
    drain(ahead);
    free(ahead);
}
