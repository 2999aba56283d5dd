/* analysis/findings/findings_locals.c - thread-local variables: what each thread has of one, judged together.
 *
 * Each thread's copy is an object of its own, which no site stands for. One declaration is one thing to change, and a
 * few bursts on each of many copies decide together what none decides alone. */
#include "analysis/findings/findings_internal.h"
#include "base/map64.h"

#include <stdlib.h>
#include <string.h>

bool subject_thread_local(const struct facts *facts, const struct facts_subject *subject)
{
    /* The kind is known of millions of objects without a row for each. */
    return subject->object != FLOW_NONE && flow_object_kind(facts->flow, subject->object) == OBJECT_STATIC &&
           flow_object_thread_local(flow_object(facts->flow, subject->object));
}

static const char *variable_of(struct findings *findings, const struct facts_subject *subject)
{
    char *text = flow_object_variable(flow_object(findings->facts->flow, subject->object));
    const char *kept = findings_text(findings, "%s", text);
    free(text);
    return kept;
}

/* Copies that other threads use too, through pointers, are judged one by one: what threads share of them differs. */
static bool is_own(const struct facts *facts, const struct facts_subject *subject)
{
    return subject->totals.samples && subject->sharing == SHARING_THREAD && subject_thread_local(facts, subject);
}

static void begin(struct facts_subject *all, const struct facts_subject *first, uint32_t nodes)
{
    *all = *first;
    all->users = (typeof(all->users)){0};
    all->phases = (typeof(all->phases)){0};
    all->totals = (struct flow_totals){0};
    all->mixing = (struct fact_mixing){0};
    all->parts = (struct fact_parts){0};
    all->from = mem_zalloc(2 * nodes * sizeof *all->from);
    all->home = all->from + nodes;
    for (const struct fact *fact = fact_table; fact < fact_table + FACTS; fact++)
        if (fact->kind == FACT_NUMBER || fact->kind == FACT_COUNT)
            memset((char *)all + fact->offset, 0, fact->width);
    all->bursts = all->slow_remote_sum = all->slow_remote_count = 0;
    all->slow_time = all->remote_time = all->remote_weight = 0;
    all->proof = PROOF_NONE; /* of one copy it says nothing about the others */
    all->concurrency = CONCURRENCY_NONE;
    all->separated = -1;
}

static void add(struct facts_subject *all, const struct facts_subject *one, uint32_t nodes)
{
    flow_totals_add(&all->totals, &one->totals);
    for (uint32_t i = 0; i < nodes; i++) {
        all->from[i] += one->from[i];
        all->home[i] += one->home[i];
    }
    for (const struct fact *fact = fact_table; fact < fact_table + FACTS; fact++) {
        void *sum = (char *)all + fact->offset;
        const void *more = (const char *)one + fact->offset;
        if (fact->kind == FACT_COUNT)
            *(fact_type_COUNT *)sum += *(const fact_type_COUNT *)more;
    }
    all->instances++;
    all->private_instances++;
    all->using_threads++;
    all->writers += one->writers;
    all->bursts += one->bursts;
    all->slow_remote_sum += one->slow_remote_sum;
    all->slow_remote_count += one->slow_remote_count;
    all->slow_time += one->slow_time;
    all->remote_time += one->remote_time;
    all->remote_weight += one->remote_weight;
    all->use = one->use > all->use ? one->use : all->use;
    all->proof = one->proof == PROOF_WRITTEN ? PROOF_WRITTEN : all->proof;
}

static int16_t most_of(const uint64_t *counts, uint32_t nodes, uint32_t *some)
{
    int16_t most = -1;
    *some = 0;
    for (uint32_t i = 0; i < nodes; i++) {
        *some += counts[i] > 0;
        if (counts[i] && (most < 0 || counts[i] > counts[most]))
            most = (int16_t)i;
    }
    return most;
}

static void finish(struct facts_subject *all, uint32_t nodes)
{
    uint32_t homes;
    all->main_home = most_of(all->home, nodes, &homes);
    all->main_user_node = most_of(all->from, nodes, &all->using_nodes);
    if (all->instances > 1)
        all->sharing = all->using_nodes > 1 ? SHARING_ALL : SHARING_NODE;
}

/* Which copy stands for all: the one with the most remote samples. */
static void take_names(struct facts_subject *all, const struct facts_subject *hottest)
{
    all->object = hottest->object;
    all->alloc_thread = hottest->alloc_thread;
    all->toucher = hottest->toucher;
    all->main_user = hottest->main_user;
}

void judge_locals(struct judging *judging)
{
    struct findings *findings = judging->findings;
    const struct facts *facts = findings->facts;
    struct map64 variables = {0};
    array_each (&facts->objects, const struct facts_subject, object) {
        bool is_new;
        if (!is_own(facts, object))
            continue;
        uint64_t *at = map64_insert(&variables, (uintptr_t)variable_of(findings, object), &is_new);
        if (is_new) {
            *at = findings->locals.count;
            array_push(&findings->locals, (struct facts_subject){0});
            begin(&findings->locals.items[*at], object, facts->node_count);
        }
        struct facts_subject *all = &findings->locals.items[*at];
        const struct facts_subject *hottest = &facts->objects.items[all->object];
        add(all, object, facts->node_count);
        if (object->totals.remote > hottest->totals.remote)
            take_names(all, object);
    }
    map64_free(&variables);
    array_each (&findings->locals, struct facts_subject, all) { /* findings point to them: no more are added */
        const struct facts_subject *hottest = &facts->objects.items[all->object];
        finish(all, facts->node_count);
        bool of_all = share_of(hottest->totals.remote, all->totals.remote) < thresholds.mostly;
        judge_subject(judging, all->instances > 1 && of_all ? all : hottest, false);
    }
    array_each (&facts->objects, const struct facts_subject, object)
        if (object->totals.samples && subject_thread_local(facts, object) && !is_own(facts, object))
            judge_subject(judging, object, false);
}
