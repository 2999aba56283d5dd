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
    const struct traffic *traffic; /* or NULL */
    double rest;                   /* bytes below a whole one, of accesses so far: sums are right */
    struct map64 row_of;           /* by a hash of all five: see find */
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
    struct traffic_bytes bytes;
    if (tallying->traffic && traffic_bytes_of(tallying->traffic, access, &bytes)) {
        tallying->rest += traffic_total(&bytes) * tallying->traffic->seconds;
        row->values[TALLY_BYTES] += (uint64_t)tallying->rest;
        tallying->rest -= (double)(uint64_t)tallying->rest;
    }
}

int tally_make(struct tally *tally, const struct flow *flow, struct names *names, bool by_nodes, struct error *err)
{
    struct traffic *traffic = known_traffic(flow);
    struct tallying tallying = {.tally = tally, .names = names, .by_nodes = by_nodes, .traffic = traffic};
    *tally = (struct tally){.has_bytes = traffic};
    int failed = flow_each_access(flow, add, &tallying, err);
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
