/* page/parts/chains.c - what each call chain did when, by which thread, to which object (c.*): functions, lines and flame graph under a selection.
 *
 * There may be any number of these. Where there are too many, time is kept more coarsely, half and half again. */
#include "base/array.h"
#include "base/map64.h"
#include "page/parts/parts.h"

enum { MOST_WHILE_NOTED = 1 << 18, MOST_ROWS = 50000 };

struct chain_row {
    uint32_t chain, object; /* chain: of the flame graph; its node once that is known */
    uint32_t function, line;
    uint16_t slice, thread;
    uint32_t samples, reads, writes, remote, known, timed; /* an atomic update is one sample that reads and writes */
    float latency, stall;                                  /* sums; of remote accesses, as a share of run time */
};

struct chains {
    const struct parts *parts;
    uint64_t start, slice_ns;
    uint32_t slices;
    struct map64 row_of; /* by a hash of all four: see find */
    array_of(struct chain_row) rows;
    struct chain_row last; /* its place alone */
    size_t last_row;
};

struct chains *chains_new(const struct parts *parts)
{
    struct chains *chains = mem_zalloc(sizeof *chains);
    uint64_t lasted = flow_end(parts->flow) - flow_start(parts->flow);
    chains->parts = parts;
    chains->start = flow_start(parts->flow);
    chains->slices = PAGE_CHAIN_SLICES;
    chains->slice_ns = lasted / PAGE_CHAIN_SLICES + 1;
    chains->last_row = SIZE_MAX;
    return chains;
}

static bool same_place(const struct chain_row *a, const struct chain_row *b)
{
    return a->chain == b->chain && a->object == b->object && a->slice == b->slice && a->thread == b->thread;
}

/* The row of a place. Two places with one hash (of 64 bits) find each other's key taken and try the next. */
static size_t find(struct chains *chains, const struct chain_row *place)
{
    uint64_t key = map64_hash((uint64_t)place->chain << 32 | place->object);
    key = map64_hash(key ^ ((uint64_t)place->slice << 16 | place->thread));
    for (;; key++) {
        bool is_new;
        uint64_t *at = map64_insert(&chains->row_of, key, &is_new);
        if (is_new) {
            *at = chains->rows.count;
            array_push(&chains->rows, *place);
            return *at;
        }
        if (same_place(&chains->rows.items[*at], place))
            return *at;
    }
}

static void join(struct chain_row *to, const struct chain_row *from)
{
    to->samples += from->samples;
    to->reads += from->reads;
    to->writes += from->writes;
    to->remote += from->remote;
    to->known += from->known;
    to->timed += from->timed;
    to->latency += from->latency;
    to->stall += from->stall;
}

/* Half as many slices, and the rows of two that follow one another as one. */
static void coarsen(struct chains *chains)
{
    struct chains old = *chains;
    chains->row_of = (struct map64){0};
    chains->rows.items = NULL;
    chains->rows.count = chains->rows.capacity = 0;
    chains->slices = (chains->slices + 1) / 2;
    chains->slice_ns *= 2;
    chains->last_row = SIZE_MAX;
    array_each (&old.rows, const struct chain_row, row) {
        struct chain_row place = {
            .chain = row->chain, .object = row->object, .slice = row->slice / 2, .thread = row->thread};
        size_t into = find(chains, &place);
        join(&chains->rows.items[into], row);
    }
    map64_free(&old.row_of);
    array_free(&old.rows);
}

static struct chain_row *row_at(struct chains *chains, uint32_t chain, uint32_t object, uint64_t time, uint32_t thread)
{
    uint64_t slice = time > chains->start ? (time - chains->start) / chains->slice_ns : 0;
    struct chain_row place = {.chain = chain,
                              .object = rank_of(&chains->parts->objects, object),
                              .slice = (uint16_t)(slice < chains->slices ? slice : chains->slices - 1),
                              .thread = parts_thread(thread)};
    if (chains->last_row == SIZE_MAX || !same_place(&chains->last, &place)) {
        while (chains->rows.count >= MOST_WHILE_NOTED && chains->slices > 1) {
            coarsen(chains);
            place.slice /= 2;
        }
        chains->last = place;
        chains->last_row = find(chains, &place);
    }
    return &chains->rows.items[chains->last_row];
}

void chains_note(struct chains *chains, uint32_t chain, const struct flow_access *access)
{
    struct chain_row *row = row_at(chains, chain, access->object, access->time, access->thread);
    row->samples++;
    row->reads += (access->flags & SAMPLE_READ) != 0;
    row->writes += access->write;
    row->remote += access->remote;
    row->known += access->home >= 0 || access->remote;
    row->timed += access->has_latency;
    row->latency += (float)access->latency;
}

void chains_note_stall(struct chains *chains, const struct stall *stall, double share)
{
    row_at(chains, stall->tag, stall->object, stall->time, stall->thread)->stall += (float)share;
}

void chains_put(struct chains *chains, const struct chain_place *places, struct container *container)
{
    static const struct container_field fields[] = {
        {"c.node", COLUMN_U32, offsetof(struct chain_row, chain)},
        {"c.object", COLUMN_U32, offsetof(struct chain_row, object)},
        {"c.function", COLUMN_U32, offsetof(struct chain_row, function)},
        {"c.line", COLUMN_U32, offsetof(struct chain_row, line)},
        {"c.slice", COLUMN_U16, offsetof(struct chain_row, slice)},
        {"c.thread", COLUMN_U16, offsetof(struct chain_row, thread)},
        {"c.samples", COLUMN_U32, offsetof(struct chain_row, samples)},
        {"c.reads", COLUMN_U32, offsetof(struct chain_row, reads)},
        {"c.writes", COLUMN_U32, offsetof(struct chain_row, writes)},
        {"c.remote", COLUMN_U32, offsetof(struct chain_row, remote)},
        {"c.known", COLUMN_U32, offsetof(struct chain_row, known)},
        {"c.timed", COLUMN_U32, offsetof(struct chain_row, timed)},
        {"c.latency", COLUMN_F32, offsetof(struct chain_row, latency)},
        {"c.stall", COLUMN_F32, offsetof(struct chain_row, stall)},
    };
    while (chains->rows.count > MOST_ROWS && chains->slices > 1)
        coarsen(chains);
    bool fit = chains->rows.count <= MOST_ROWS;
    struct chain_row *rows = mem_alloc((chains->rows.count + 1) * sizeof *rows);
    for (size_t i = 0; fit && i < chains->rows.count; i++) {
        rows[i] = chains->rows.items[i];
        rows[i].function = places[rows[i].chain].function;
        rows[i].line = places[rows[i].chain].line;
        rows[i].chain = places[rows[i].chain].node;
    }
    json_number(container_json(container), "chain_slices", chains->slices);
    json_real(container_json(container), "chain_slice_s", (double)chains->slice_ns * 1e-9, 9);
    container_rows(container, rows, sizeof *rows, fit ? chains->rows.count : 0, fields, sizeof fields / sizeof *fields);
    free(rows);
}

void chains_free(struct chains *chains)
{
    if (!chains)
        return;
    map64_free(&chains->row_of);
    array_free(&chains->rows);
    free(chains);
}
