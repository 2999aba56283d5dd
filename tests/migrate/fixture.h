/* Machines, page maps and a memory made by hand. */
#ifndef NUMALENS_TESTS_MIGRATE_FIXTURE_H
#define NUMALENS_TESTS_MIGRATE_FIXTURE_H

#include "base/array.h"
#include "base/map64.h"
#include "migrate/policies/policy_machine.h"
#include "migrate/memory.h"
#include "migrate/page_map.h"
#include "migrate/move_plan.h"
#include "migrate/policies/policies.h"
#include "migrate/survey.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { PID = 42 };

static inline uint64_t page_at(uint64_t number)
{
    return number << page_shift();
}

static inline struct topology *machine_of(const char *spec)
{
    struct error err = {0};
    struct topology *topology = topology_simulate(spec, ASSIGN_PACKED, &err);
    if (!topology)
        fail_msg("%s", err.text);
    return topology;
}

/* Sets distances by hand: all far, but near within groups of `size`. */
static inline void set_groups(struct topology *topology, uint32_t size, uint16_t near, uint16_t far)
{
    uint32_t count = topology->node_count;
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t j = 0; j < count; j++)
            topology->distances[i * count + j] = i == j ? 10 : i / size == j / size ? near : far;
}

static inline void touch(struct page_map *map, uint64_t page, uint32_t thread, uint32_t node, unsigned times)
{
    struct page_access access = {.addr = page_at(page), .pid = PID, .thread = thread, .node = node};
    while (times--)
        page_map_add(map, &access);
}

/* A memory in which the test says what is where and what cannot be moved. */
struct toy {
    struct map64 homes;  /* page number, to node */
    struct map64 faults; /* page number, to the errno of moving it */
    uint64_t calls, moved;
    int refusal; /* of whole calls */
};

static inline int toy_locate(void *context, uint32_t pid, const uint64_t *pages, size_t count, int32_t *homes,
                             struct error *err)
{
    struct toy *toy = context;
    (void)pid;
    if (toy->refusal)
        return error_set(err, toy->refusal, "refused");
    for (size_t i = 0; i < count; i++) {
        const uint64_t *home = map64_find(&toy->homes, pages[i] >> page_shift());
        homes[i] = home ? (int32_t)*home : -ENOENT;
    }
    return 0;
}

static inline int toy_move(void *context, uint32_t pid, const uint64_t *pages, const uint32_t *nodes, size_t count,
                           int32_t *answers, struct error *err)
{
    struct toy *toy = context;
    (void)pid;
    toy->calls++;
    for (size_t i = 0; i < count; i++) {
        const uint64_t *fault = map64_find(&toy->faults, pages[i] >> page_shift());
        answers[i] = toy->refusal ? toy->refusal : fault ? -(int32_t)*fault : (int32_t)nodes[i];
        if (answers[i] >= 0) {
            *map64_insert(&toy->homes, pages[i] >> page_shift(), NULL) = nodes[i];
            toy->moved++;
        }
    }
    return toy->refusal ? error_set(err, toy->refusal, "refused") : 0;
}

static inline void toy_close(void *context)
{
    struct toy *toy = context;
    map64_free(&toy->homes);
    map64_free(&toy->faults);
}

static inline struct memory toy_memory(struct toy *toy)
{
    return (struct memory){toy, toy_locate, toy_move, toy_close};
}

static inline void lies(struct toy *toy, uint64_t page, uint32_t node)
{
    *map64_insert(&toy->homes, page, NULL) = node;
}

/* One interval's evaluation over a toy memory. */
struct bench {
    struct topology *topology;
    struct nlens_machine *machine;
    struct toy toy;
    struct memory memory;
    struct history *history;
    struct page_map *map;
    struct survey survey;
    struct plan plan;
    struct plan_limits limits;
};

static inline void bench_start(struct bench *bench, struct topology *topology)
{
    memset(bench, 0, sizeof *bench);
    bench->topology = topology;
    bench->machine = machine_new(topology);
    bench->memory = toy_memory(&bench->toy);
    bench->history = history_new(100000);
    bench->map = page_map_new(1 << 20);
    bench->limits = (struct plan_limits){.pages = 100000, .bytes = (uint64_t)1 << 40, .min_accesses = 1};
}

static inline int bench_plan(struct bench *bench, const struct nlens_policy *policy, void *self, uint64_t interval)
{
    survey_free(&bench->survey);
    plan_free(&bench->plan);
    survey_make(&bench->survey, bench->map, &bench->memory, bench->topology, false);
    return plan_make(&bench->plan, policy, self, bench->machine, &bench->survey, &bench->memory, bench->history,
                     &bench->limits, interval, 1000000000);
}

static inline void bench_end(struct bench *bench)
{
    plan_free(&bench->plan);
    survey_free(&bench->survey);
    page_map_free(bench->map);
    history_free(bench->history);
    bench->memory.close(bench->memory.context);
    machine_free(bench->machine);
    topology_free(bench->topology);
}

/* Where the plan sends a page, or -1. */
static inline int goes_to(const struct plan *plan, uint64_t page)
{
    for (size_t i = 0; i < plan->count; i++)
        if (plan->items[i].page == page_at(page))
            return (int)plan->items[i].to;
    return -1;
}

#endif
