/* exchange/export/tally.h - samples summed up for formats that have no time: by thread, call chain and what was accessed. */
#pragma once

#include "base/array.h"
#include "exchange/export/names.h"

enum tally_value {
    TALLY_SAMPLES,
    TALLY_REMOTE,
    TALLY_LATENCY,
    TALLY_TIMED,
    TALLY_HOME_KNOWN,
    TALLY_BYTES,
    TALLY_VALUES
};

struct tally_row {
    uint32_t thread; /* or FLOW_NONE */
    uint32_t chain, thing;
    int16_t from, home; /* nodes; -1 when not known, and when rows are not by nodes */
    uint64_t values[TALLY_VALUES];
};

struct tally {
    array_of(struct tally_row) rows; /* in order of first use */
    bool
        has_bytes; /* from memory: traffic was recorded and is known. Exact by thread and by what was accessed (and by nodes);
                       over call chains they are spread by samples */
};

/* Those that are known: all, or all but the last. */
static inline unsigned tally_values(const struct tally *tally)
{
    return tally->has_bytes ? TALLY_VALUES : TALLY_BYTES;
}

/* `by_nodes`: nodes distinguish rows too. */
int tally_make(struct tally *tally, const struct flow *flow, struct names *names, bool by_nodes, struct error *err);
void tally_free(struct tally *tally);

/* "samples", "remote", "latency" ...; TALLY_VALUES when it is none of them. */
const char *tally_value_name(enum tally_value value);
enum tally_value tally_value_named(const char *name);

/* "samples", "accesses", "bytes", "ns" or "cycles". */
const char *tally_value_unit(const struct flow *flow, enum tally_value value);
