/* made_facts.h - facts of one object, made up, and what is found in them. Each pattern has a test that gives it, and a near twin that
 * must give none, or another. */
#ifndef NUMALENS_TESTS_MADE_FACTS_H
#define NUMALENS_TESTS_MADE_FACTS_H

#include "analysis/findings/findings_advice.h"

#include "../flow/feeding.h"

#include <stdio.h>
#include <stdlib.h>

enum { NODES = 4, THREADS = 9, SAMPLES = 8000, SIZE = 8 << 20 };

/* One object of one site on node 0, that eight workers of four nodes use at the same time: tests bend it. */
struct made {
    struct feeding feeding;
    struct facts facts;
    struct facts_subject *object, *site;
    struct findings *findings;
};

static inline void put_users(struct facts_subject *subject, uint32_t first, uint32_t count)
{
    array_free(&subject->users);
    for (uint32_t i = 0; i < count; i++)
        array_push(&subject->users, (struct fact_user){.thread = first + i,
                                                       .node = (int16_t)((first + i) / 2 % NODES),
                                                       .samples = SAMPLES / count,
                                                       .reads = SAMPLES / count / 2,
                                                       .writes = SAMPLES / count / 2});
}

static inline void put_subject(struct made *made, struct facts_subject *subject)
{
    *subject = (struct facts_subject){
        .object = 0,
        .site = 0,
        .instances = 1,
        .totals = {.samples = SAMPLES,
                   .reads = SAMPLES * 59 / 100,
                   .writes = SAMPLES * 41 / 100,
                   .home_known = SAMPLES,
                   .remote = SAMPLES * 3 / 4,
                   .latency_sum = SAMPLES * 80ul,
                   .latency_count = SAMPLES},
        .bursts = 500,
        .using_threads = 8,
        .using_nodes = NODES,
        .from = mem_zalloc(NODES * sizeof(uint64_t)),
        .home = mem_zalloc(NODES * sizeof(uint64_t)),
        .use = USE_WRITTEN,
        .writers = 8,
        .sharing = SHARING_ALL,
        .alloc_thread = 0,
        .toucher = 0,
        .main_user = 1,
        .main_user_node = 1,
        .concurrency = CONCURRENCY_CONCURRENT,
        .overlap = 0.97,
        .mixing =
            {.pairs = 200, .changes = 168, .chance = 172, .near_pairs = 150, .near_changes = 127, .near_expected = 43},
        .switches = 100,
        .switch_ns = 20000000,
        .pages = SIZE / 4096,
        .separated = 0.02,
        .parts = {.bursts = 480, .pairs = 400, .agree = 106, .near_pairs = 400, .near_agree = 106, .chance = 0.25},
        .slow_time = 0.4,
        .remote_time = 0.2,
    };
    for (unsigned node = 0; node < NODES; node++)
        subject->from[node] = SAMPLES / NODES;
    subject->home[0] = SAMPLES;
    put_users(subject, 1, 8);
    (void)made;
}

/* Threads take turns: very few pairs of bursts change the thread. */
static inline void put_turns(struct facts_subject *subject)
{
    subject->concurrency = CONCURRENCY_DISJOINT;
    subject->overlap = 0.03;
    subject->mixing.changes = 6;
    subject->mixing.near_changes = 4;
}

/* Neighbours agree so often, above chance. */
static inline void put_parted(struct facts_subject *subject, double separated)
{
    struct fact_parts *parts = &subject->parts;
    subject->separated = separated;
    parts->agree = (uint64_t)((double)parts->pairs * (parts->chance + separated * (1 - parts->chance)));
    parts->near_agree = (uint64_t)((double)parts->near_pairs * (parts->chance + separated * (1 - parts->chance)));
}

/* An object that all threads use at the same time: on the heap, the section of a binary, or what a function maps. */
static inline struct made *make_by(const char *binary, const char *mapper)
{
    struct made *made = mem_zalloc(sizeof *made);
    made->feeding = feeding_new("numa:4 core:2", ASSIGN_PACKED);
    struct feeding *feeding = &made->feeding;
    uint64_t chain[] = {0x401000, 0x402000};
    feed_start(feeding, PID, 1, false);
    for (uint32_t i = 0; i < THREADS; i++) {
        char name[16];
        snprintf(name, sizeof name, i ? "worker %u" : "main", i);
        feed_thread(feeding, PID + i, name, 0, 0);
    }
    feed_stack(feeding, 1, 2, chain);
    for (unsigned page = 0; page < 16; page++) /* by main, before it is allocated: the allocator had them */
        feed_touch(feeding, 0x10000000 + page * 4096ul);
    feeding->time += 100000000;
    if (binary)
        feed(feeding,
             (struct event){
                 .kind = EVENT_MODULE_LOAD,
                 .module = {.start = 0x10000000, .end = 0x10000000 + SIZE, .bias = 0x10000000, .path = binary}});
    else if (mapper) {
        feed(feeding,
             (struct event){.kind = EVENT_RUNTIME_CODE, .time = 1, .code = {0x400800, 0x1000, 0, 0, mapper, ""}});
        feed_map(feeding, 0x10000000, SIZE, MAP_KIND_ANONYMOUS, 1, "");
    } else
        feed_alloc(feeding, 0x10000000, SIZE, 1);
    feed_read(feeding, 0x10000000);
    flow_finish(feeding->flow);
    assert_int_equal(flow_sampled_object_count(feeding->flow), 1);
    assert_int_equal(flow_site_count(feeding->flow), binary ? 0 : 1);
    struct facts *facts = &made->facts;
    facts->flow = feeding->flow;
    facts->node_count = NODES;
    array_push(&facts->objects, (struct facts_subject){0});
    array_push(&facts->sites, (struct facts_subject){0});
    made->object = &facts->objects.items[0];
    made->site = &facts->sites.items[0];
    put_subject(made, made->object);
    put_subject(made, made->site);
    facts->nodes = mem_zalloc(NODES * sizeof *facts->nodes);
    facts->matrix = mem_zalloc((size_t)NODES * NODES * sizeof *facts->matrix);
    facts->totals = made->object->totals;
    facts->totals.samples = facts->totals.home_known = SAMPLES + 2000;
    facts->timed = true;
    facts->slow_ns = 60;
    facts->remote_penalty = 1;
    facts->remote_time = 0.2;
    for (unsigned node = 0; node < NODES; node++)
        facts->nodes[node].samples = (SAMPLES + 2000) / NODES;
    facts->bursts = 620;
    facts->remote_time_variance = 0.04;
    return made;
}

static inline struct made *make_in(const char *binary)
{
    return make_by(binary, NULL);
}

static inline struct made *make(void)
{
    return make_in(NULL);
}

/* The names of all patterns that are found, with blanks between them. */
static inline const char *patterns(struct made *made)
{
    static char text[256];
    size_t used = 0;
    text[0] = '\0';
    findings_free(made->findings);
    made->findings = findings_make(&made->facts);
    array_each (&made->findings->items, const struct finding, finding) {
        used +=
            (size_t)snprintf(text + used, sizeof text - used, "%s%s", used ? " " : "", pattern_name(finding->pattern));
        assert_true(finding->confidence >= 1 - thresholds.doubt_hint && finding->confidence <= 1 &&
                    (double)finding->bursts >= thresholds.bursts);
        assert_true(finding->advice.count > 0 && finding->against.count > 0);
        assert_true(strlen(finding->evidence) > 20 && strlen(finding->gain) > 10);
        array_each (&finding->advice, const struct advice, advice)
            assert_true(*advice->why && *advice->code);
    }
    return text;
}

static inline const struct finding *worst(struct made *made)
{
    assert_true(made->findings->items.count > 0);
    return &made->findings->items.items[0];
}

static inline bool says(const char *text, const char *part)
{
    if (strstr(text, part))
        return true;
    print_message("# no '%s' in: %s\n", part, text);
    return false;
}

static inline const struct advice *advised(const struct finding *finding, enum action action)
{
    array_each (&finding->advice, const struct advice, advice)
        if (advice->action == action)
            return advice;
    return NULL;
}

static inline const struct advice *warned(const struct finding *finding, enum action action)
{
    array_each (&finding->against, const struct advice, advice)
        if (advice->action == action)
            return advice;
    return NULL;
}

static inline void made_free(struct made *made)
{
    findings_free(made->findings);
    struct facts_subject *subjects[] = {made->object, made->site};
    for (unsigned i = 0; i < 2; i++) {
        array_free(&subjects[i]->users);
        free(subjects[i]->from);
        free(subjects[i]->home);
    }
    array_free(&made->facts.objects);
    array_free(&made->facts.sites);
    free(made->facts.nodes);
    free(made->facts.matrix);
    feeding_free(&made->feeding);
    free(made);
}

#endif
