/* page/parts/flame.c - a flame graph of the stall time of remote accesses: call chains merged into one tree, outermost function first (f.*).
 *
 * A node is a function as called from its parent, whatever the lines: its frame is the first one seen. Sums are with those
 * of the nodes below. */
#include "base/array.h"
#include "base/map64.h"
#include "base/order.h"
#include "base/strtab.h"
#include "page/parts/parts.h"

#include <inttypes.h>

struct flame_tally { /* of one call chain */
    double stall;    /* of remote accesses, as a share of run time */
    uint32_t process, stack;
    uint32_t samples, remote;
    uint32_t node; /* its innermost function's */
};

struct flame_row { /* a node as the page has it */
    double stall;
    uint32_t parent, frame, samples, remote;
};

struct flame_node {
    struct flow_frame frame;
    double stall;
    uint32_t parent, samples, remote;
};

struct flame {
    const struct flow *flow;
    struct map64 tally_of; /* process << 32 | stack */
    array_of(struct flame_tally) tallies;
    uint64_t last_key;
    size_t last_tally;
    struct strtab *functions;
    struct map64 child_of; /* parent << 32 | function */
    array_of(struct flame_node) nodes;
    uint32_t *numbers; /* of the nodes in the page: see choose */
};

struct flame *flame_new(const struct flow *flow)
{
    struct flame *flame = mem_zalloc(sizeof *flame);
    flame->flow = flow;
    flame->last_key = MAP64_EMPTY;
    flame->functions = strtab_new();
    return flame;
}

uint32_t flame_note(struct flame *flame, const struct flow_access *access)
{
    uint32_t process = access->thread == FLOW_NONE ? FLOW_NONE : flow_thread(flame->flow, access->thread)->process;
    uint64_t key = (uint64_t)process << 32 | access->stack;
    if (key != flame->last_key || flame->tallies.count == 0) {
        bool is_new;
        uint64_t *place = map64_insert(&flame->tally_of, key, &is_new);
        if (is_new) {
            *place = flame->tallies.count;
            array_push(&flame->tallies, (struct flame_tally){.process = process, .stack = access->stack});
        }
        flame->last_key = key;
        flame->last_tally = *place;
    }
    struct flame_tally *tally = &flame->tallies.items[flame->last_tally];
    tally->samples++;
    tally->remote += access->remote;
    return (uint32_t)flame->last_tally;
}

void flame_note_stall(struct flame *flame, uint32_t chain, double share)
{
    flame->tallies.items[chain].stall += share;
}

static void add(struct flame_node *node, const struct flame_tally *tally)
{
    node->samples += tally->samples;
    node->remote += tally->remote;
    node->stall += tally->stall;
}

static uint32_t child(struct flame *flame, uint32_t parent, const struct flow_frame *frame)
{
    char *name = *frame->symbol.function ? mem_format("%s\n%s", frame->symbol.function, frame->module)
                                         : mem_format("\n%s+%" PRIx64, frame->module, frame->addr);
    uint64_t function = strtab_add(flame->functions, name);
    free(name);
    bool is_new;
    uint64_t *place = map64_insert(&flame->child_of, (uint64_t)parent << 32 | function, &is_new);
    if (is_new) {
        *place = flame->nodes.count;
        array_push(&flame->nodes, (struct flame_node){.parent = parent, .frame = *frame});
    }
    return (uint32_t)*place;
}

static void grow(struct flame *flame)
{
    struct flow_frame *frames = mem_alloc(FRAMES_DEPTH * sizeof *frames);
    array_push(&flame->nodes, (struct flame_node){.parent = FLOW_NONE});
    array_each (&flame->tallies, struct flame_tally, tally) {
        size_t depth = tally->stack && tally->process != FLOW_NONE
                           ? flow_stack_places(flame->flow, tally->process, tally->stack, frames, FRAMES_DEPTH)
                           : 0;
        uint32_t at = 0;
        add(&flame->nodes.items[0], tally);
        while (depth-- > 0) {
            at = child(flame, at, &frames[depth]);
            add(&flame->nodes.items[at], tally);
        }
        tally->node = at;
    }
    free(frames);
}

struct weighed {
    double stall;
    uint32_t samples, index;
};

ORDER_BY(heaviest_first, struct weighed,
         ORDER(b->stall, a->stall) ?: ORDER(b->samples, a->samples) ?: ORDER(a->index, b->index))

/* The heaviest nodes, by their new numbers; FLOW_NONE for the others. A parent is never lighter than its children and
 * was there before them, so it is kept when one of them is. */
static uint32_t *choose(const struct flame *flame, size_t *kept)
{
    size_t count = flame->nodes.count;
    struct weighed *all = mem_alloc((count + 1) * sizeof *all);
    uint32_t *numbers = mem_alloc((count + 1) * sizeof *numbers);
    for (size_t i = 0; i < count; i++) {
        const struct flame_node *node = &flame->nodes.items[i];
        all[i] = (struct weighed){node->stall, node->samples, (uint32_t)i};
        numbers[i] = FLOW_NONE;
    }
    qsort(all, count, sizeof *all, heaviest_first);
    *kept = count < PAGE_FLAME_NODES ? count : PAGE_FLAME_NODES;
    for (size_t i = 0; i < *kept; i++)
        numbers[all[i].index] = 0;
    uint32_t next = 0;
    for (size_t i = 0; i < count; i++)
        numbers[i] = numbers[i] == FLOW_NONE ? FLOW_NONE : next++;
    free(all);
    return numbers;
}

void flame_put(struct flame *flame, struct frames *frames, struct container *container)
{
    static const struct container_field fields[] = {
        {"f.parent", COLUMN_U32, offsetof(struct flame_row, parent)},
        {"f.frame", COLUMN_U32, offsetof(struct flame_row, frame)},
        {"f.samples", COLUMN_U32, offsetof(struct flame_row, samples)},
        {"f.remote", COLUMN_U32, offsetof(struct flame_row, remote)},
        {"f.stall", COLUMN_F64, offsetof(struct flame_row, stall)},
    };
    if (flame->nodes.count == 0)
        grow(flame);
    size_t kept, at = 0;
    free(flame->numbers);
    const uint32_t *numbers = flame->numbers = choose(flame, &kept);
    struct flame_row *rows = mem_alloc((kept + 1) * sizeof *rows);
    for (size_t i = 0; i < flame->nodes.count; i++) {
        const struct flame_node *node = &flame->nodes.items[i];
        if (numbers[i] == FLOW_NONE)
            continue;
        rows[at++] = (struct flame_row){.stall = node->stall,
                                        .parent = node->parent == FLOW_NONE ? FLOW_NONE : numbers[node->parent],
                                        .frame = i ? frames_add(frames, &node->frame) : FLOW_NONE,
                                        .samples = node->samples,
                                        .remote = node->remote};
    }
    json_number(container_json(container), "flame_skipped", flame->nodes.count - kept);
    container_rows(container, rows, sizeof *rows, kept, fields, sizeof fields / sizeof *fields);
    free(rows);
}

struct chain_place *flame_places(const struct flame *flame)
{
    struct chain_place *places = mem_alloc((flame->tallies.count + 1) * sizeof *places);
    for (size_t i = 0; i < flame->tallies.count; i++) {
        const struct flame_tally *tally = &flame->tallies.items[i];
        uint32_t node = tally->node, function = FLOW_NONE, line = FLOW_NONE;
        while (flame->numbers[node] == FLOW_NONE)
            node = flame->nodes.items[node].parent;
        if (tally->stack && tally->process != FLOW_NONE) {
            function = flow_stack_function(flame->flow, tally->process, tally->stack);
            line = flow_stack_line(flame->flow, tally->process, tally->stack);
        }
        places[i] = (struct chain_place){.node = flame->numbers[node],
                                         .function = function < PAGE_FUNCTIONS ? function : FLOW_NONE,
                                         .line = line < PAGE_CODE_LINES ? line : FLOW_NONE};
    }
    return places;
}

void flame_free(struct flame *flame)
{
    if (!flame)
        return;
    map64_free(&flame->tally_of);
    array_free(&flame->tallies);
    strtab_free(flame->functions);
    map64_free(&flame->child_of);
    array_free(&flame->nodes);
    free(flame->numbers);
    free(flame);
}
