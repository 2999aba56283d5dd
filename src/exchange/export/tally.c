#include "exchange/export/tally.h"

#include "analysis/facts/accesses.h"
#include "base/map64.h"
#include "exchange/export/known_traffic.h"

#include <string.h>

static const char *const value_names[TALLY_VALUES] = {
    [TALLY_SAMPLES] = "samples", [TALLY_REMOTE] = "remote",         [TALLY_LATENCY] = "latency",
    [TALLY_TIMED] = "timed",     [TALLY_HOME_KNOWN] = "home_known", [TALLY_BYTES] = "bytes",
};

struct tallying {
    struct tally *tally;
    struct names *names;
    bool by_nodes;
    struct map64 row_of; /* by a hash of all five: see find */
};

/* Two places with one hash (of 64 bits) find each other's key taken and try the next. */
static struct tally_row *find(struct tallying *tallying, const struct tally_row *place)
{
    uint64_t key = map64_hash(map64_hash((uint64_t)place->chain << 32 | place->thing) + place->thread);
    key = map64_hash(key ^ ((uint32_t)(uint16_t)place->from << 16 | (uint16_t)place->home));
    for (;; key++) {
        bool is_new;
        uint64_t *at = map64_insert(&tallying->row_of, key, &is_new);
        if (is_new) {
            *at = tallying->tally->rows.count;
            array_push(&tallying->tally->rows, *place);
        }
        struct tally_row *row = &tallying->tally->rows.items[*at];
        if (row->thread == place->thread && row->chain == place->chain && row->thing == place->thing &&
            row->from == place->from && row->home == place->home)
            return row;
    }
}

static void add(void *context, const struct flow_access *access)
{
    struct tallying *tallying = context;
    struct tally_row place = {.thread = access->thread,
                              .chain = names_chain(tallying->names, access),
                              .thing = names_thing_of(tallying->names, access->object),
                              .from = tallying->by_nodes ? access->from : -1,
                              .home = tallying->by_nodes ? access->home : -1};
    struct tally_row *row = find(tallying, &place);
    row->values[TALLY_SAMPLES]++;
    row->values[TALLY_REMOTE] += access->remote;
    row->values[TALLY_LATENCY] += access->latency;
    row->values[TALLY_TIMED] += access->has_latency;
    row->values[TALLY_HOME_KNOWN] += access->home >= 0 || access->remote;
}

static struct tally_row pool_of(const struct tally_row *row)
{
    return (struct tally_row){.thread = row->thread, .thing = row->thing, .from = row->from, .home = row->home};
}

static void spread_bytes(struct tallying *tallying, struct tallying *pooling, const double *bytes)
{
    double rest = 0; /* below a byte, of rows so far: sums are right */
    size_t rows = tallying->tally->rows.count;
    for (size_t i = 0; i < pooling->tally->rows.count; i++) {
        const struct tally_row *pool = &pooling->tally->rows.items[i];
        if (pool->values[TALLY_SAMPLES] || bytes[i] <= 0)
            continue;
        rest += bytes[i]; /* what accesses it was not sampled */
        find(tallying, pool)->values[TALLY_BYTES] += (uint64_t)rest;
        rest -= (double)(uint64_t)rest;
    }
    for (size_t i = 0; i < rows; i++) {
        struct tally_row *row = &tallying->tally->rows.items[i], place = pool_of(row);
        const struct tally_row *pool = find(pooling, &place);
        rest += bytes[pool - pooling->tally->rows.items] * (double)row->values[TALLY_SAMPLES] /
                (double)pool->values[TALLY_SAMPLES];
        row->values[TALLY_BYTES] += (uint64_t)rest;
        rest -= (double)(uint64_t)rest;
    }
}

static void add_bytes(struct tallying *tallying, const struct traffic *traffic)
{
    struct tally pools = {0};
    struct tallying pooling = {.tally = &pools};
    array_each (&tallying->tally->rows, const struct tally_row, row) {
        struct tally_row place = pool_of(row);
        find(&pooling, &place)->values[TALLY_SAMPLES] += row->values[TALLY_SAMPLES];
    }
    array_of(double) bytes = {0};
    array_each (&traffic->cells, const struct traffic_cell, cell) {
        struct tally_row place = {.thread = cell->row->thread,
                                  .thing = names_thing_of(tallying->names, cell->row->object),
                                  .from = tallying->by_nodes ? cell->row->from : -1,
                                  .home = tallying->by_nodes ? cell->row->home : -1};
        size_t pool = (size_t)(find(&pooling, &place) - pools.rows.items);
        while (bytes.count < pools.rows.count)
            array_push(&bytes, 0);
        if (cell->rated)
            bytes.items[pool] += (cell->read + cell->written) * traffic->seconds;
    }
    while (bytes.count < pools.rows.count)
        array_push(&bytes, 0);
    spread_bytes(tallying, &pooling, bytes.items);
    array_free(&bytes);
    map64_free(&pooling.row_of);
    tally_free(&pools);
}

int tally_make(struct tally *tally, const struct flow *flow, struct names *names, bool by_nodes, struct error *err)
{
    struct tallying tallying = {.tally = tally, .names = names, .by_nodes = by_nodes};
    *tally = (struct tally){0};
    int failed = flow_each_access(flow, add, &tallying, err);
    struct traffic *traffic = failed < 0 ? NULL : known_traffic(flow);
    tally->has_bytes = traffic && traffic->all.is_rated;
    if (tally->has_bytes)
        add_bytes(&tallying, traffic);
    if (traffic)
        traffic_free(traffic);
    map64_free(&tallying.row_of);
    if (failed < 0)
        tally_free(tally);
    return failed;
}

void tally_free(struct tally *tally)
{
    array_free(&tally->rows);
}

const char *tally_value_name(enum tally_value value)
{
    return value_names[value];
}

enum tally_value tally_value_named(const char *name)
{
    unsigned value = 0;
    while (value < TALLY_VALUES && strcmp(value_names[value], name) != 0)
        value++;
    return value;
}

const char *tally_value_unit(const struct flow *flow, enum tally_value value)
{
    return value == TALLY_SAMPLES   ? "samples"
           : value == TALLY_BYTES   ? "bytes"
           : value == TALLY_LATENCY ? accesses_unit(flow)
                                    : "accesses";
}
