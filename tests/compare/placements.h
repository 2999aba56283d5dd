/* placements.h - made-up figures of a program under several placements. */
#ifndef NUMALENS_TESTS_COMPARE_PLACEMENTS_H
#define NUMALENS_TESTS_COMPARE_PLACEMENTS_H

#include "compare/verdict.h"

enum { MOST = 4 };

struct made {
    struct placed items[MOST];
    const struct placed *pointers[MOST];
    uint32_t count;
};

/* A placement with a run of each time; `model` is what all of them have. */
static inline struct figures *add(struct made *made, enum placement_kind kind, struct figures model, unsigned runs,
                                  const double *times)
{
    struct placed *placed = &made->items[made->count];
    *placed = (struct placed){.name = placement_name(kind), .placement = {.kind = kind, .possible = true}};
    model.samples = model.samples ? model.samples : 1000;
    model.plain_s = -1;
    for (unsigned i = 0; i < runs; i++) {
        model.recorded_s = times[i];
        array_push(&placed->runs, model);
    }
    made->pointers[made->count++] = placed;
    return placed->runs.items;
}

static inline struct verdict judge(struct made *made, bool simulated)
{
    struct verdict verdict;
    verdict_make(&verdict, made->pointers, made->count, simulated);
    return verdict;
}

static inline void finish(struct made *made)
{
    for (uint32_t i = 0; i < made->count; i++)
        array_free(&made->items[i].runs);
}

#endif
