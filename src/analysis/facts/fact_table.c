/* analysis/facts/fact_table.c - facts as a table, and their values as they are shown. */
#include "analysis/facts/facts.h"

#include <stddef.h>
#include <string.h>

const struct fact fact_table[FACTS] = {
#define FACT(member, kind, name, shown, page, meaning)                                                                 \
    {name,                                                                                                             \
     meaning,                                                                                                          \
     FACT_##kind,                                                                                                      \
     FACT_##shown,                                                                                                     \
     offsetof(struct facts_subject, member),                                                                           \
     sizeof(((struct facts_subject *)NULL)->member)},
    FACT_LIST(FACT)
#undef FACT
};

const char *fact_word(enum fact_kind kind, unsigned value)
{
    static const char *const words[FACT_NUMBER][4] = {
        [FACT_USE] = {"read-only", "read-mostly", "written"},
        [FACT_PROOF] = {"none", "read-only", "written"},
        [FACT_SHARING] = {"thread", "node", "shared"},
        [FACT_CONCURRENCY] = {"none", "disjoint", "concurrent"},
        [FACT_SHAPE] = {"unknown", "sequential", "strided", "random"},
    };
    return kind < FACT_NUMBER && value < 4 && words[kind][value] ? words[kind][value] : "?";
}

static struct fact_value real(double value, int decimals, bool known)
{
    return (struct fact_value){.known = known, .real = known ? value : 0, .decimals = decimals};
}

struct fact_value fact_value(const struct fact *fact, const struct facts_subject *subject, const struct flow *flow)
{
    const char *member = (const char *)subject + fact->offset;
    uint64_t bits = 0;
    double share;
    int16_t node;
    memcpy(&bits, member, fact->width);
    switch (fact->kind) {
    case FACT_SHARE:
        memcpy(&share, member, sizeof share);
        return real(share, 4, share >= 0);
    case FACT_THREAD:
        return bits == FLOW_NONE ? (struct fact_value){.known = false}
                                 : (struct fact_value){.known = true, .number = flow_thread(flow, (uint32_t)bits)->tid};
    case FACT_NODE:
        memcpy(&node, member, sizeof node);
        return node < 0 ? (struct fact_value){.known = false}
                        : (struct fact_value){.known = true, .number = flow_topology(flow)->nodes[node].os_index};
    case FACT_TIME:
        return real(((double)bits - (double)flow_start(flow)) * 1e-9, 6, true);
    case FACT_DELAY:
        return real((double)bits * 1e-9, 6, bits != UINT64_MAX);
    case FACT_INTERVAL:
        return real((double)bits * 1e-9, 9, true);
    case FACT_NUMBER:
    case FACT_COUNT:
    case FACT_BYTES:
    case FACT_ADDRESS:
        return (struct fact_value){.known = bits || fact->kind != FACT_ADDRESS, .number = (int64_t)bits};
    default:
        return (struct fact_value){.known = true, .word = fact_word(fact->kind, (unsigned)bits)};
    }
}
