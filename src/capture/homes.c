#include "capture/homes.h"

#include "base/array.h"
#include "base/map64.h"
#include "base/mem.h"
#include "base/order.h"
#include "topology/page_frame.h"
#include "topology/home.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum {
    AGAIN_NS = 1000000000,
    BYTES_PER_PAGE = 16 * 2 * 2 + 16, /* slots of a map that is half full and may be growing; the list of new ones */
    SEEN = 1,                         /* in a value: sampled since it was asked for */
    REPORTED = 2,                     /* its node, in the upper half, is in the trace */
    FRAME_SHIFT = 2, /* between: the lower bits of the number of the frame that is in the trace; or 0 */
};

#define FRAME_BITS ((UINT64_C(1) << 32) - (1u << FRAME_SHIFT))

struct fresh_page {
    uint64_t page, time;
};

struct homed_process {
    uint32_t pid;
    bool ended;
    struct map64 pages; /* page number, to node << 32 | frame << FRAME_SHIFT | flags */
    array_of(struct fresh_page) fresh;
};

struct homes {
    struct sink *sink;
    struct map64 by_pid; /* to struct homed_process * */
    struct homed_process *last;
    size_t pages, most;
    unsigned shift;
    uint64_t asked_again;
    array_of(uint64_t) addresses;
    array_of(int32_t) nodes;
    array_of(uint64_t) frames;
    bool asks_nodes, asks_frames;
};

bool homes_wanted(const struct topology *topology, struct error *err)
{
    err->code = 0;
    unsigned with_memory = 0;
    for (uint32_t i = 0; i < topology->node_count; i++)
        with_memory += topology->nodes[i].memory != 0;
    if (topology->simulated || with_memory < 2)
        return false;
    uint64_t page = (uintptr_t)&page;
    int32_t node;
    return home_query(getpid(), &page, 1, &node, err) == 0;
}

struct homes *homes_new(struct sink *sink, size_t memory, bool nodes, bool frames)
{
    struct homes *homes = mem_zalloc(sizeof *homes);
    homes->sink = sink;
    homes->asks_nodes = nodes;
    homes->asks_frames = frames;
    homes->most = memory / BYTES_PER_PAGE;
    homes->shift = (unsigned)__builtin_ctzl((unsigned long)sysconf(_SC_PAGESIZE));
    return homes;
}

static void forget_pages(struct homes *homes, struct homed_process *watched)
{
    homes->pages -= watched->pages.count;
    map64_free(&watched->pages);
    array_free(&watched->fresh);
}

void homes_free(struct homes *homes)
{
    if (!homes)
        return;
    map64_each (&homes->by_pid, i) {
        forget_pages(homes, (struct homed_process *)(uintptr_t)homes->by_pid.values[i]);
        free((struct homed_process *)(uintptr_t)homes->by_pid.values[i]);
    }
    map64_free(&homes->by_pid);
    array_free(&homes->addresses);
    array_free(&homes->nodes);
    array_free(&homes->frames);
    free(homes);
}

static struct homed_process *watched_for(struct homes *homes, uint32_t pid)
{
    if (homes->last && homes->last->pid == pid)
        return homes->last;
    bool is_new;
    uint64_t *place = map64_insert(&homes->by_pid, pid, &is_new);
    if (is_new) {
        *place = (uintptr_t)mem_zalloc(sizeof(struct homed_process));
        ((struct homed_process *)(uintptr_t)*place)->pid = pid;
    }
    return homes->last = (struct homed_process *)(uintptr_t)*place;
}

static void report(struct homes *homes, const struct homed_process *watched, uint64_t page, int32_t node, uint64_t time)
{
    struct event event = {.time = time, .pid = watched->pid, .tid = watched->pid, .kind = EVENT_HOME};
    event.home = (struct event_home){page << homes->shift, (uint64_t)1 << homes->shift, node};
    sink_put(homes->sink, &event);
}

/* Asks for homes->addresses. False when the process has ended or the kernel will not report. */
static bool query(struct homes *homes, struct homed_process *watched, uint64_t now)
{
    size_t count = homes->addresses.count;
    array_reserve(&homes->nodes, count);
    struct error err;
    int code = home_query((pid_t)watched->pid, homes->addresses.items, count, homes->nodes.items, &err);
    if (code == 0)
        return true;
    sink_loss(homes->sink, now, watched->pid, 0, LOSS_HOME_UNKNOWN, code == -ESRCH ? watched->fresh.count : count);
    watched->ended = true;
    return false;
}

/* Of homes->addresses: those that are new or in another frame than before. */
static void report_frames(struct homes *homes, struct homed_process *watched, uint64_t now)
{
    struct error err;
    size_t count = homes->addresses.count;
    if (!homes->asks_frames || count == 0)
        return;
    array_reserve(&homes->frames, count);
    if (frame_query((pid_t)watched->pid, homes->addresses.items, count, homes->frames.items, &err) < 0) {
        watched->ended = watched->ended || !homes->asks_nodes; /* else that question finds it out */
        return;
    }
    for (size_t i = 0; i < count; i++) {
        uint64_t page = homes->addresses.items[i], physical = homes->frames.items[i];
        uint64_t *value = physical ? map64_find(&watched->pages, page >> homes->shift) : NULL;
        uint64_t frame = physical >> homes->shift << FRAME_SHIFT & FRAME_BITS;
        if (!value || (*value & FRAME_BITS) == frame)
            continue;
        *value = (*value & ~FRAME_BITS) | frame;
        struct event event = {.time = now, .pid = watched->pid, .tid = watched->pid, .kind = EVENT_FRAME};
        event.frame = (struct event_frame){page, physical};
        sink_put(homes->sink, &event);
    }
}

static void ask_fresh(struct homes *homes, struct homed_process *watched, uint64_t now)
{
    homes->addresses.count = 0;
    array_each (&watched->fresh, struct fresh_page, fresh)
        array_push(&homes->addresses, fresh->page << homes->shift);
    if (watched->ended || homes->addresses.count == 0)
        return;
    report_frames(homes, watched, now);
    if (!homes->asks_nodes) {
        watched->fresh.count = 0;
        return;
    }
    if (!query(homes, watched, now))
        return;
    uint64_t unknown = 0;
    for (size_t i = 0; i < watched->fresh.count; i++) {
        int32_t node = homes->nodes.items[i];
        uint64_t *value = map64_find(&watched->pages, watched->fresh.items[i].page);
        if (node < 0 || !value) {
            unknown++;
            continue; /* asked again when it is sampled again */
        }
        *value = (uint64_t)(uint32_t)node << 32 | (*value & FRAME_BITS) | REPORTED;
        /* Its home node when it was sampled, as far as anyone can know. */
        report(homes, watched, watched->fresh.items[i].page, node, watched->fresh.items[i].time);
    }
    sink_loss(homes->sink, now, watched->pid, 0, LOSS_HOME_UNKNOWN, unknown);
    watched->fresh.count = 0;
}

static void start_again(struct homes *homes, uint64_t now)
{
    map64_each (&homes->by_pid, i) {
        struct homed_process *watched = (struct homed_process *)(uintptr_t)homes->by_pid.values[i];
        ask_fresh(homes, watched, now);
        forget_pages(homes, watched);
    }
}

void homes_sample(struct homes *homes, uint32_t pid, uint64_t addr, uint64_t time)
{
    if (homes->pages >= homes->most)
        start_again(homes, time);
    struct homed_process *watched = watched_for(homes, pid);
    bool is_new;
    uint64_t page = addr >> homes->shift;
    uint64_t *value = map64_insert(&watched->pages, page, &is_new);
    *value |= SEEN;
    if (is_new) {
        homes->pages++;
        array_push(&watched->fresh, (struct fresh_page){page, time});
    }
}

ORDER_BY(compare_addresses, uint64_t, ORDER(*a, *b))

static void ask_again(struct homes *homes, struct homed_process *watched, uint64_t now)
{
    homes->addresses.count = 0;
    map64_each (&watched->pages, i) {
        if (!(watched->pages.values[i] & SEEN))
            continue;
        array_push(&homes->addresses, watched->pages.keys[i] << homes->shift);
        if (!homes->asks_nodes)
            watched->pages.values[i] &= ~(uint64_t)SEEN;
    }
    array_sort(&homes->addresses, compare_addresses); /* the kernel answers neighbours at once */
    report_frames(homes, watched, now);
    if (homes->addresses.count == 0 || !homes->asks_nodes || !query(homes, watched, now))
        return;
    for (size_t i = 0; i < homes->addresses.count; i++) {
        int32_t node = homes->nodes.items[i];
        uint64_t page = homes->addresses.items[i] >> homes->shift;
        uint64_t *value = map64_find(&watched->pages, page);
        if (!value)
            continue;
        bool changed = !(*value & REPORTED) || (int32_t)(*value >> 32) != node;
        *value &= ~(uint64_t)SEEN;
        if (node < 0 || !changed)
            continue;
        *value = (uint64_t)(uint32_t)node << 32 | (*value & FRAME_BITS) | REPORTED;
        report(homes, watched, page, node, now);
    }
}

void homes_ask(struct homes *homes, uint64_t now)
{
    bool again = now - homes->asked_again >= AGAIN_NS;
    array_of(struct homed_process *) ended = {0};
    map64_each (&homes->by_pid, i) {
        struct homed_process *watched = (struct homed_process *)(uintptr_t)homes->by_pid.values[i];
        ask_fresh(homes, watched, now);
        if (again && !watched->ended)
            ask_again(homes, watched, now);
        if (watched->ended)
            array_push(&ended, watched);
    }
    array_each (&ended, struct homed_process *, watched) {
        map64_remove(&homes->by_pid, (*watched)->pid);
        forget_pages(homes, *watched);
        free(*watched);
        homes->last = NULL;
    }
    array_free(&ended);
    if (again)
        homes->asked_again = now;
}

static void drain(void *context, uint64_t until, struct source_level *level)
{
    (void)level;
    homes_ask(context, until);
}

static void close_homes(void *context)
{
    homes_free(context);
}

struct source homes_source(struct homes *homes)
{
    return (struct source){.kind = FROM_HOMES, .context = homes, .drain = drain, .close = close_homes};
}

size_t homes_memory(const struct homes *homes)
{
    return homes->pages * BYTES_PER_PAGE;
}
