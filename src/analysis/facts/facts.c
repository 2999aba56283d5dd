/* analysis/facts/facts.c - gathers facts: one pass in order of the file for what judging needs to know beforehand, one in order
 * of time for everything else; then every subject is judged. */
#include "analysis/facts/facts_second_pass.h"
#include "analysis/facts/stalls.h"
#include "analysis/facts/facts_work.h"
#include "base/progress.h"

#include <stdlib.h>
#include <string.h>

static uint64_t *node_counts(const struct facts *facts)
{
    return mem_zalloc((facts->node_count + 1ul) * sizeof(uint64_t));
}

static int alloc_node(const struct flow *flow, const struct flow_object *object)
{
    const struct topology *topology = flow_topology(flow);
    if (object->alloc_thread == FLOW_NONE)
        return -1;
    bool has_cpu = object->alloc_fn < ALLOC_FNS; /* of an mmap it is not reported */
    if (topology->simulated || topology->node_count == 1 || !has_cpu)
        return flow_thread_node(flow, object->alloc_thread);
    return topology_node_of_cpu(topology, object->alloc_cpu);
}

/* `counts`: two for each node. */
static void subject_begin(const struct facts *facts, struct facts_subject *subject, const struct flow_object *object,
                          uint64_t *counts)
{
    *subject = (struct facts_subject){.object = object->id,
                                      .site = object->site,
                                      .process = object->process,
                                      .from = counts,
                                      .home = counts + facts->node_count,
                                      .alloc_thread = object->kind == OBJECT_STACK ? FLOW_NONE : object->alloc_thread,
                                      .alloc_node = -1,
                                      .toucher_node = -1,
                                      .main_home = -1,
                                      .main_user_node = -1,
                                      .toucher = FLOW_NONE,
                                      .main_user = FLOW_NONE,
                                      .first_remote = UINT64_MAX,
                                      .separated = -1};
    if (object->kind != OBJECT_STACK)
        subject->alloc_node = (int16_t)alloc_node(facts->flow, object);
}

static void make_details(struct gathering *gathering)
{
    const struct facts *facts = gathering->facts;
    for (uint32_t i = 0; i < gathering->object_count; i++) {
        if (facts->objects.items[i].totals.samples >= DETAIL_SAMPLES)
            gathering->objects[i].detail = mem_zalloc(sizeof(struct detail));
    }
    for (uint32_t i = 0; i < gathering->site_count; i++) {
        const struct facts_subject *site = &facts->sites.items[i];
        if (site->totals.samples >= DETAIL_SAMPLES && site->instances > 1)
            gathering->sites[i].work.detail = mem_zalloc(sizeof(struct detail));
    }
}

static uint64_t *counts_at(const struct facts *facts, uint32_t subject)
{
    return facts->node_counts + (size_t)subject * 2 * facts->node_count;
}

static void begin(struct gathering *gathering, struct facts *facts)
{
    const struct flow *flow = facts->flow;
    struct map64 stack_of = {0}; /* process -> its first stack */
    gathering->facts = facts;
    gathering->flow = flow;
    gathering->object_count = (uint32_t)flow_sampled_object_count(flow);
    gathering->site_count = (uint32_t)flow_site_count(flow);
    gathering->subject_of = mem_alloc((gathering->object_count + 1ul) * sizeof *gathering->subject_of);
    gathering->objects = mem_zalloc((gathering->object_count + 1ul) * sizeof *gathering->objects);
    gathering->sites = mem_zalloc((gathering->site_count + 1ul) * sizeof *gathering->sites);
    gathering->node_looks = mem_zalloc((facts->node_count + 1ul) * sizeof *gathering->node_looks);
    for (uint32_t i = 0; i < facts->node_count; i++)
        gathering->node_looks[i].thread = FLOW_NONE;
    gathering->bursts = mem_zalloc((flow_thread_count(flow) + 1) * sizeof *gathering->bursts);
    facts->objects.items = mem_zalloc((gathering->object_count + 1ul) * sizeof *facts->objects.items);
    facts->objects.count = facts->objects.capacity = gathering->object_count;
    facts->sites.items = mem_zalloc((gathering->site_count + 1ul) * sizeof *facts->sites.items);
    facts->sites.count = facts->sites.capacity = gathering->site_count;
    facts->node_counts = mem_zalloc((gathering->object_count + gathering->site_count + 1ul) * 2 * facts->node_count *
                                    sizeof *facts->node_counts);

    for (uint32_t i = 0; i < gathering->object_count; i++) {
        struct flow_object copy = flow_object_copy(flow, i), *object = &copy;
        uint32_t stands = i;
        if (object->kind == OBJECT_STACK) {
            bool is_new;
            uint64_t *place = map64_insert(&stack_of, object->process, &is_new);
            if (is_new)
                *place = i;
            stands = (uint32_t)*place;
        }
        gathering->subject_of[i] = stands;
        struct facts_subject *subject = &facts->objects.items[i];
        subject_begin(facts, subject, object, counts_at(facts, i));
        struct work *work = &gathering->objects[i];
        users_begin(work, object);
        pages_begin(work, object);
        work->owner = object->kind == OBJECT_STACK ? object->alloc_thread : FLOW_NONE;
        work->init_thread = pages_initialiser(flow, i);
        if (object->totals.samples == 0)
            continue; /* of another process than the one that is looked at */
        facts->objects.items[stands].instances++;
        flow_totals_add(&facts->objects.items[stands].totals, &object->totals);
        if (object->site == FLOW_NONE)
            continue;
        struct facts_subject *site = &facts->sites.items[object->site];
        if (site->instances == 0) {
            subject_begin(facts, site, object, counts_at(facts, gathering->object_count + object->site));
            users_begin(&gathering->sites[object->site].work, object);
        } else if (object->totals.samples > flow_object_totals(flow, site->object).samples) {
            site->object = i;
            site->alloc_thread = object->alloc_thread;
            site->alloc_node = subject->alloc_node;
        }
        site->instances++;
        flow_totals_add(&site->totals, &object->totals);
    }
    for (uint32_t i = 0; i < gathering->site_count; i++) {
        if (facts->sites.items[i].instances == 0)
            facts->sites.items[i] = (struct facts_subject){.object = FLOW_NONE, .site = i, .separated = -1};
    }
    make_details(gathering);
    lines_begin(gathering);
    gathering->slow_unit = slow_unit_of(gathering->flow);
    map64_free(&stack_of);
}

/* The burst an access belongs to. Sources that do not mark bursts look at single accesses. */
static struct open_burst *burst_of(struct gathering *gathering, const struct flow_access *access)
{
    struct open_burst **place = &gathering->bursts[access->thread], *burst = *place;
    if (!burst)
        burst = *place = mem_zalloc(sizeof *burst);
    bool first = access->flags & SAMPLE_FIRST;
    burst->marked |= first;
    if (first || !burst->marked || access->time - burst->last > FACTS_BURST_PAUSE) {
        burst->number = ++gathering->burst_count;
        gathering->active[phases_slice(gathering->flow, access->time)]++;
        burst->count = 0;
    }
    if (access->home >= 0 && (burst->count == 0 || burst->home != access->home)) {
        burst->home = access->home; /* a burst that goes to several nodes is one of each */
        concurrency_look(&gathering->node_looks[access->home], access);
    }
    burst->last = access->time;
    return burst;
}

static void add_whole(struct facts *facts, const struct flow_access *access)
{
    bool slow = access->has_latency && access->latency > facts->slow_ns;
    if (access->home < 0)
        return;
    struct facts_node *node = &facts->nodes[access->home];
    double weight = facts_weight(facts, access), remote = access->remote ? weight : 0;
    node->samples++;
    node->remote += access->remote;
    node->remote_weight += remote;
    facts->threads[access->thread].homes[access->home]++;
    facts->threads[access->thread].remote_weight += remote;
    if (access->from >= 0) {
        size_t pair = (size_t)access->from * facts->node_count + (size_t)access->home;
        facts->matrix[pair]++;
        facts->weights.matrix[pair] += weight;
    }
    if (!slow)
        return;
    node->latency_sum += access->latency;
    node->latency_count++;
    if (access->remote) {
        facts->slow_remote.sum += weight * access->latency;
        facts->slow_remote.weight += weight;
        facts->slow_remote.count++;
    } else {
        facts->slow_local.sum += weight * access->latency;
        facts->slow_local.weight += weight;
        facts->slow_local.count++;
    }
}

static void add_subject(const struct gathering *gathering, struct facts_subject *subject,
                        const struct flow_access *access, uint64_t start, bool new_burst)
{
    if (access->from >= 0)
        subject->from[access->from]++;
    if (access->home >= 0)
        subject->home[access->home]++;
    subject->bursts += new_burst;
    if (!access->remote)
        return;
    subject->remote_weight += facts_weight(gathering->facts, access);
    uint64_t age = access->time > start ? access->time - start : 0;
    if (age < subject->first_remote)
        subject->first_remote = age;
    if (access->has_latency && access->latency > gathering->facts->slow_ns) {
        subject->slow_remote_sum += access->latency;
        subject->slow_remote_count++;
    }
}

static void add_detail(const struct gathering *gathering, struct detail *detail, const struct flow_access *access,
                       const struct open_burst *burst, bool has_stride, int64_t stride)
{
    if (!detail)
        return;
    if (has_stride)
        shape_add(detail, stride, burst->number);
    phases_add(detail, phases_slice(gathering->flow, access->time), access->remote);
}

static void mark(void *context, const struct flow_access *access)
{
    struct gathering *gathering = context;
    if (access->thread == FLOW_NONE)
        return;
    if (access->has_latency)
        slow_count(gathering->latencies, access->latency, gathering->slow_unit);
    weights_mark(gathering->facts, access);
    if (access->object != FLOW_NONE)
        lines_mark(gathering, access);
}

static void visit(void *context, const struct flow_access *access)
{
    struct gathering *gathering = context;
    struct facts *facts = gathering->facts;
    if (access->thread == FLOW_NONE)
        return;
    lines_expect(gathering, access);
    struct open_burst *burst = burst_of(gathering, access);
    add_whole(facts, access);
    if (access->object == FLOW_NONE)
        return;
    uint32_t index = gathering->subject_of[access->object];
    struct work *work = &gathering->objects[index];
    struct facts_subject *subject = &facts->objects.items[index];
    bool use = users_is_use(work, access), new_burst;
    struct user_work *user = users_add(gathering, work, index, access, burst->number, use, &new_burst);
    pages_add(gathering, index, user, access);
    uint32_t owner = gathering->objects[access->object].owner;
    subject->strangers += owner != FLOW_NONE && owner != access->thread;
    add_subject(gathering, subject, access, work->start, new_burst);
    if (use) {
        concurrency_add(gathering, work, access, new_burst);
        lines_add(gathering, access, index, burst->number);
    }
    int64_t stride = 0;
    bool has_stride = shape_stride(burst, index, access, &stride);
    add_detail(gathering, work->detail, access, burst, has_stride, stride);
    struct facts_subject *site = subject->site != FLOW_NONE ? &facts->sites.items[subject->site] : NULL;
    if (!site || site->instances < 2)
        return; /* it gets its only object's facts */
    struct work *sum = &gathering->sites[subject->site].work;
    users_add(gathering, sum, gathering->object_count + subject->site, access, burst->number, use, &new_burst);
    add_subject(gathering, site, access, work->start, new_burst);
    add_detail(gathering, sum->detail, access, burst, has_stride, stride);
}

static void copy_only_object(const struct facts *facts, struct facts_subject *site, const struct facts_subject *object)
{
    size_t bytes = facts->node_count * sizeof *site->from;
    uint64_t *from = memcpy(site->from, object->from, bytes), *home = memcpy(site->home, object->home, bytes);
    *site = *object;
    site->from = from;
    site->home = home;
    memset(&site->users, 0, sizeof site->users);
    memset(&site->phases, 0, sizeof site->phases);
    array_fit(&site->users, object->users.count);
    array_fit(&site->phases, object->phases.count);
    array_each (&object->users, const struct fact_user, user)
        array_push(&site->users, *user);
    array_each (&object->phases, const struct fact_phase, phase)
        array_push(&site->phases, *phase);
    site->private_instances = object->sharing == SHARING_THREAD;
}

static void finish_details(const struct gathering *gathering, struct facts_subject *subject,
                           const struct detail *detail)
{
    if (detail)
        shape_finish(subject, detail);
    phases_finish(gathering, subject, detail);
}

static void work_free(struct work *work)
{
    array_free(&work->users);
    free(work->node_bursts);
    free(work->detail);
    work->node_bursts = NULL;
    work->detail = NULL;
}

static void finish_objects(struct gathering *gathering)
{
    for (uint32_t i = 0; i < gathering->object_count; i++) {
        if (flow_object_totals(gathering->flow, i).samples)
            pages_touched(gathering, i);
    }
    for (uint32_t i = 0; i < gathering->object_count; i++) {
        struct work *work = &gathering->objects[i];
        if (gathering->facts->objects.items[i].instances == 0)
            continue;
        pages_finish(gathering, i);
        users_finish(gathering, i);
        concurrency_finish(gathering, i);
        finish_details(gathering, &gathering->facts->objects.items[i], work->detail);
        work_free(work); /* objects may be very many */
    }
    lines_finish(gathering);
    pages_finish_all(gathering);
}

static void finish(struct gathering *gathering)
{
    struct facts *facts = gathering->facts;
    finish_objects(gathering);
    for (uint32_t i = 0; i < gathering->object_count; i++) {
        const struct facts_subject *object = &facts->objects.items[i];
        struct facts_subject *site = object->site != FLOW_NONE ? &facts->sites.items[object->site] : NULL;
        if (!site || object->instances == 0)
            continue;
        if (site->instances == 1) {
            copy_only_object(facts, site, object);
            continue;
        }
        pages_add_to_site(gathering, i, site);
        lines_add_to_site(gathering, i, site);
    }
    for (uint32_t i = 0; i < facts->node_count; i++)
        concurrency_finish_node(gathering, i);
    for (uint32_t i = 0; i < gathering->site_count; i++) {
        struct facts_subject *site = &facts->sites.items[i];
        if (site->instances < 2)
            continue;
        site->pages += gathering->sites[i].work.pages;
        users_finish_site(gathering, i);
        concurrency_finish_site(gathering, i);
        finish_details(gathering, site, gathering->sites[i].work.detail);
    }
}

static void gathering_free(struct gathering *gathering)
{
    for (uint32_t i = 0; i < gathering->object_count; i++)
        work_free(&gathering->objects[i]);
    for (uint32_t i = 0; i < gathering->site_count; i++)
        work_free(&gathering->sites[i].work);
    for (size_t i = 0; i < flow_thread_count(gathering->flow); i++)
        free(gathering->bursts[i]);
    pages_free_all(gathering);
    lines_free(gathering);
    free(gathering->objects);
    free(gathering->sites);
    free(gathering->subject_of);
    free(gathering->bursts);
    free(gathering->node_looks);
    map64_free(&gathering->user_of);
}

struct facts *facts_make(const struct flow *flow, struct error *err)
{
    struct facts *facts = mem_zalloc(sizeof *facts);
    progress_begin("analysing", 0);
    facts->flow = flow;
    facts->node_count = flow_topology(flow)->node_count;
    facts->totals = flow_totals(flow);
    facts->nodes = mem_zalloc((facts->node_count + 1ul) * sizeof *facts->nodes);
    facts->matrix = mem_zalloc(((size_t)facts->node_count * facts->node_count + 1) * sizeof *facts->matrix);
    facts->weights.matrix =
        mem_zalloc(((size_t)facts->node_count * facts->node_count + 1) * sizeof *facts->weights.matrix);
    facts->threads = mem_zalloc((flow_thread_count(flow) + 1) * sizeof *facts->threads);
    for (size_t i = 0; i < flow_thread_count(flow); i++)
        facts->threads[i].homes = node_counts(facts);
    struct gathering gathering = {0};
    begin(&gathering, facts);
    int failed = flow_each_access(flow, mark, &gathering, err);
    lines_marked(&gathering);
    weights_marked(facts);
    facts->slow_ns = slow_bound(gathering.latencies, flow);
    if (failed == 0)
        failed = flow_each_access_in_time(flow, visit, &gathering, err);
    if (failed == 0)
        finish(&gathering);
    facts->bursts = gathering.burst_count;
    gathering_free(&gathering);
    if (failed == 0)
        failed = facts_second_pass(facts, err);
    if (failed == 0)
        failed = facts_find_written(facts, err);
    if (failed == 0)
        return facts;
    facts_free(facts);
    return NULL;
}

static void subject_free(struct facts_subject *subject)
{
    array_free(&subject->users);
    array_free(&subject->phases);
}

void facts_free(struct facts *facts)
{
    if (!facts)
        return;
    array_each (&facts->objects, struct facts_subject, subject)
        subject_free(subject);
    array_each (&facts->sites, struct facts_subject, subject)
        subject_free(subject);
    array_free(&facts->objects);
    array_free(&facts->sites);
    for (size_t i = 0; i < flow_thread_count(facts->flow); i++)
        free(facts->threads[i].homes);
    free(facts->threads);
    free(facts->nodes);
    array_free(&facts->lines);
    free(facts->matrix);
    free(facts->weights.matrix);
    free(facts->node_counts);
    free(facts);
}

const struct facts_subject *facts_of_object(const struct facts *facts, uint32_t object)
{
    const struct facts_subject *subject = &facts->objects.items[object];
    if (flow_object_kind(facts->flow, object) != OBJECT_STACK)
        return subject;
    uint32_t process = flow_object_process(facts->flow, object);
    for (uint32_t i = 0; i < object; i++) {
        if (flow_object_kind(facts->flow, i) == OBJECT_STACK && flow_object_process(facts->flow, i) == process)
            return &facts->objects.items[i];
    }
    return subject;
}
