/* flow/live/live_sample.c - sampled accesses: their object, the node they came from and the node they went to.
 *
 * On a real machine a page's home is what the kernel last said at or before the access; where it had said nothing yet,
 * what it says next (the access waits for it). On a simulated one it is the node of the thread that first touched the
 * page, until something is said of it: `numalens migrate` moves simulated pages too. A machine with one node needs
 * neither. Where the kernel is silent, the hardware's word counts: it says whether its own node's memory answered,
 * though not always which other one did. */
#include "base/units.h"
#include "flow/state.h"

static void totals_home(struct flow_totals *totals, bool remote)
{
    totals->home_known++;
    totals->remote += remote;
}

static void tally_home(struct tally *tally, bool remote)
{
    tally->home_known++;
    tally->remote += remote;
}

/* Counts where a sample went. */
static void home_known(struct flow *flow, const struct mark *mark, uint32_t thread, uint32_t stack)
{
    bool remote = live_sample_remote(mark);
    totals_home(&flow->totals, remote);
    totals_home(&flow->threads.items[thread].totals, remote);
    if (mark->object != FLOW_NONE)
        tally_home(live_record_tally(flow, mark->object), remote);
    if (stack != FLOW_NONE)
        tally_home(pool_at(&flow->tallies, flow->stacks.items[stack].tally), remote);
}

static void totals_add(struct flow_totals *totals, const struct event_sample *sample)
{
    totals->samples++;
    totals->reads += (sample->flags & SAMPLE_READ) != 0;
    totals->writes += (sample->flags & SAMPLE_WRITE) != 0;
    if (sample->flags & SAMPLE_HAS_LATENCY) {
        totals->latency_sum += sample->latency;
        totals->latency_count++;
    }
}

static void tally_add(struct tally *tally, const struct event_sample *sample)
{
    tally->samples++;
    tally->reads += (sample->flags & SAMPLE_READ) != 0;
    tally->writes += (sample->flags & SAMPLE_WRITE) != 0;
    if (sample->flags & SAMPLE_HAS_LATENCY) {
        tally->latency_sum += sample->latency;
        tally->latency_count++;
    }
}

static struct tally *stack_tally(struct flow *flow, struct process *process, uint32_t index)
{
    struct stack *stack = &flow->stacks.items[index];
    if (stack->tally == FLOW_NONE) {
        stack->tally = pool_add(&flow->tallies, &flow->slab);
        *pool_at(&flow->tallies, stack->tally) = (struct tally){.end = UINT64_MAX};
        if (!stack->allocates)
            stack->process = process->index;
        if (stack->depth)
            stack->frame = live_frame_number(flow, process, flow->chain.items[stack->first], stack->since);
    }
    return pool_at(&flow->tallies, stack->tally);
}

/* The home node of a page that had no fault in sight: a larger fault brought it in, unless faults were lost. Then only a touch of
 * the same object will do: an array may end in the 2 MiB in which another thread's begins. */
static int home_around(struct flow *flow, const struct process *process, uint64_t addr, uint32_t object)
{
    struct pages_latest latest = pages_latest(&process->pages, addr);
    if (latest.node < 0 || !flow->lost_touches)
        return latest.node;
    const struct record *record = object != FLOW_NONE ? pool_at(&flow->records, object) : NULL;
    bool same =
        !record || (latest.page + (1ul << PAGE_UNIT_SHIFT) > record->addr && latest.page < record->addr + record->size);
    return same && !latest.one_by_one ? latest.node : -1;
}

static int home_of(struct flow *flow, struct process *process, uint64_t addr, uint32_t object, int from)
{
    const struct topology *topology = flow->topology;
    if (topology->node_count == 1)
        return 0;
    int home = pages_home(&process->pages, addr);
    if (home >= 0 || !topology->simulated)
        return home;
    uint64_t page = addr >> PAGE_UNIT_SHIFT << PAGE_UNIT_SHIFT;
    if (topology->home != HOME_FIRST_TOUCH)
        return topology_home_of_page(topology, page, from);
    if (flow->has_touches)
        home = home_around(flow, process, addr, object);
    if (home < 0 && from >= 0) { /* no fault was seen: the first sampled access stands for the first touch */
        home = topology_home_of_page(topology, page, from);
        pages_set(&process->pages, page, 1, home);
    }
    return home;
}

static int home_by_level(const struct topology *topology, uint8_t level, int from)
{
    if (level == LEVEL_RAM)
        return from;
    if (level != LEVEL_REMOTE_RAM && level != LEVEL_REMOTE_CACHE)
        return -1;
    return topology->node_count == 2 && from >= 0 ? 1 - from : HOME_ELSEWHERE;
}

static void wait_for_home(struct flow *flow, struct process *process, uint64_t addr, const struct waiting *entry)
{
    uint32_t index = flow->free_waiting;
    if (index != FLOW_NONE)
        flow->free_waiting = pool_at(&flow->waiting, index)->next;
    else
        index = pool_add(&flow->waiting, &flow->slab);
    uint64_t *first = map64_insert(&process->waiting, addr >> PAGE_UNIT_SHIFT, NULL);
    struct waiting *place = pool_at(&flow->waiting, index);
    *place = *entry;
    place->next = *first ? (uint32_t)*first - 1 : FLOW_NONE;
    *first = (uint64_t)index + 1;
}

static struct mark *mark_of(struct flow *flow, uint64_t ordinal)
{
    while (flow->marks.count <= ordinal)
        array_push(&flow->marks, (struct mark){.object = FLOW_NONE, .from = -1, .home = -1});
    return &flow->marks.items[ordinal];
}

struct sample_place { /* where a sample belongs */
    uint32_t thread, object, stack;
    enum reason reason; /* without an object */
};

static void count(struct flow *flow, struct process *process, const struct event_sample *sample,
                  const struct sample_place *place)
{
    if (place->object == FLOW_NONE)
        flow->reasons[place->reason]++;
    else
        flow->attributed++;
    totals_add(&flow->totals, sample);
    totals_add(&flow->threads.items[place->thread].totals, sample);
    if (place->stack != FLOW_NONE)
        tally_add(stack_tally(flow, process, place->stack), sample);
    array_push(&flow->order, (uint32_t)sample->ordinal);
}

/* The majority of where a thread is seen, if there is one. */
static void seen_on(struct flow *flow, uint32_t thread, int node)
{
    uint32_t *votes = &flow->thread_votes.items[thread];
    if (node < 0)
        return;
    if (*votes == 0)
        flow->thread_nodes.items[thread] = (int16_t)node;
    *votes += flow->thread_nodes.items[thread] == node ? 1 : -1u;
}

void live_sample_add(struct flow *flow, struct process *process, const struct event *event)
{
    if (event->sample.ordinal >= FLOW_NONE)
        return;
    enum reason reason = REASON_NO_MAP;
    live_thread_of(flow, process, event->tid, event->time);
    uint32_t object = live_attribute_sample(flow, process, event->tid, event->sample.addr, &reason);
    live_sample_put(flow, process, event, object, reason);
}

void live_sample_put(struct flow *flow, struct process *process, const struct event *event, uint32_t object,
                     enum reason reason)
{
    const struct event_sample *sample = &event->sample;
    uint32_t thread = live_thread_of(flow, process, event->tid, event->time);
    bool counts = live_event_counts(flow, event);
    uint32_t stack = live_stack_at(flow, process, sample->stack, event->time);
    struct tally *tally = object != FLOW_NONE ? live_record_tally(flow, object) : NULL;
    if (tally && (counts || !flow->only_tid))
        tally_add(tally, sample);
    if (counts)
        count(flow, process, sample, &(struct sample_place){thread, object, stack, reason});

    struct mark *mark = mark_of(flow, sample->ordinal);
    mark->object = object;
    if (flow->topology->node_count == 1)
        mark->from = 0;
    else if (flow->topology->simulated)
        mark->from = flow->thread_nodes.items[thread];
    else {
        mark->from = (int16_t)topology_node_of_cpu(flow->topology, sample->cpu);
        seen_on(flow, thread, mark->from);
    }
    mark->home = (int16_t)home_of(flow, process, sample->addr, object, mark->from);
    if (mark->home < 0 && !flow->topology->simulated)
        mark->home = (int16_t)home_by_level(flow->topology, sample->level, mark->from);
    if (!counts)
        return;
    if (mark->home != -1)
        home_known(flow, mark, thread, stack);
    else if (!flow->topology->simulated)
        wait_for_home(flow, process, sample->addr,
                      &(struct waiting){.ordinal = (uint32_t)sample->ordinal, .thread = thread, .stack = stack});
}

void live_sample_reuse(struct flow *flow, struct process *process, const struct event *event)
{
    const struct event_reuse *reuse = &event->reuse;
    uint32_t thread = live_thread_of(flow, process, event->tid, event->time);
    if (!live_event_counts(flow, event))
        return;
    enum reason ignored;
    struct flow_reuse row = {.event = *reuse, .time = event->time, .thread = thread};
    row.code = live_frame_number(flow, process, reuse->pc, event->time);
    row.object = live_attribute_sample(flow, process, event->tid, reuse->addr, &ignored);
    row.site =
        row.object != FLOW_NONE ? pool_at(&flow->records, row.object)->trail : FLOW_NONE; /* until they are drawn */
    row.from = flow->topology->node_count == 1 ? 0 : flow->thread_nodes.items[thread];
    row.home = (int16_t)home_of(flow, process, reuse->addr, row.object, row.from);
    array_push(&flow->reuses, row);
}

void live_sample_long(struct flow *flow, struct process *process, const struct event *event)
{
    uint32_t thread = live_thread_of(flow, process, event->tid, event->time);
    if (live_event_counts(flow, event))
        array_push(&flow->long_bursts,
                   (struct flow_long_burst){.event = event->long_burst, .time = event->time, .thread = thread});
}

void live_sample_touch(struct flow *flow, struct process *process, const struct event *event)
{
    flow->has_touches = true;
    uint32_t thread = live_thread_of(flow, process, event->tid, event->time);
    live_touched_add(flow, process, thread, event);
    if (!flow->topology->simulated && flow->topology->node_count > 1)
        seen_on(flow, thread, topology_node_of_cpu(flow->topology, event->touch.cpu));
    if (!flow->topology->simulated || flow->topology->home != HOME_FIRST_TOUCH || flow->topology->node_count == 1)
        return;
    int node = flow->thread_nodes.items[thread];
    uint64_t page = event->touch.addr >> PAGE_UNIT_SHIFT << PAGE_UNIT_SHIFT;
    if (node >= 0)
        pages_touch(&process->pages, page, topology_home_of_page(flow->topology, page, node));
}

static void wake(struct flow *flow, uint32_t index, int node)
{
    while (index != FLOW_NONE) {
        struct waiting *entry = pool_at(&flow->waiting, index);
        struct mark *mark = &flow->marks.items[entry->ordinal];
        mark->home = (int16_t)node;
        home_known(flow, mark, entry->thread, entry->stack);
        uint32_t next = entry->next;
        entry->next = flow->free_waiting;
        flow->free_waiting = index;
        index = next;
    }
}

void live_sample_home(struct flow *flow, struct process *process, const struct event *event)
{
    enum { LARGEST_PAGE = 1 << 30 };
    const struct topology *topology = flow->topology;
    if (topology->node_count == 1 || event->home.node < 0)
        return;
    int node = topology_node_index(topology, event->home.node);
    if (node < 0)
        return;
    uint64_t size = event->home.size && event->home.size <= LARGEST_PAGE ? event->home.size : PAGE_UNIT;
    uint64_t page = event->home.page / size * size;
    for (uint64_t at = page; at < page + size; at += 1ul << PAGE_UNIT_SHIFT) {
        if (pages_moves(&process->pages, at, node))
            live_touched_moved(flow, process, at);
    }
    pages_set(&process->pages, page, size, node);
    if (process->waiting.count == 0)
        return;
    for (uint64_t at = page >> PAGE_UNIT_SHIFT; at < (page + size) >> PAGE_UNIT_SHIFT; at++) {
        uint64_t *first = map64_find(&process->waiting, at);
        if (!first)
            continue;
        uint32_t index = (uint32_t)*first - 1;
        map64_remove(&process->waiting, at);
        wake(flow, index, node);
    }
}
