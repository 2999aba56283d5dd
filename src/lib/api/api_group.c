/* lib/api/api_group.c - some of the accesses, by conditions: in order of time, and summed up.
 *
 * Objects, threads and functions are asked once each, before the first access is; so most conditions cost a look into
 * a table of bytes for each access. */
#include "base/order.h"
#include "lib/api/api.h"

#include <string.h>

nlens_group *nlens_group_new(nlens_trace *trace)
{
    nlens_group *group = mem_zalloc(sizeof *group);
    *group = (nlens_group){.trace = trace, .next = trace->groups, .link = &trace->groups};
    if (group->next)
        group->next->link = &group->next;
    trace->groups = group;
    return group;
}

/* What was made of the conditions is no longer true. */
static void forget(nlens_group *group)
{
    free(group->object_fits);
    free(group->thread_fits);
    free(group->function_fits);
    free(group->object_totals);
    free(group->site_totals);
    free(group->thread_totals);
    free(group->function_totals);
    group->object_fits = group->thread_fits = group->function_fits = NULL;
    group->object_totals = group->site_totals = group->thread_totals = group->function_totals = NULL;
    group->prepared = group->summed = group->asks_accesses = false;
}

void nlens_group_free(nlens_group *group)
{
    if (!group)
        return;
    for (nlens_iter *iter = group->trace->iters; iter; iter = iter->next)
        iter->over = iter->over || iter->group == group;
    forget(group);
    for (unsigned i = 0; i < sizeof group->rows / sizeof *group->rows; i++)
        free(group->rows[i]);
    array_each (&group->conditions, struct condition *, condition)
        condition_free(*condition);
    array_free(&group->conditions);
    *group->link = group->next;
    if (group->next)
        group->next->link = group->link;
    free(group);
}

nlens_trace *nlens_group_trace(nlens_group *group)
{
    return group->trace;
}

static void add(nlens_group *group, struct condition *condition)
{
    array_push(&group->conditions, condition);
    forget(group);
}

int nlens_group_filter(nlens_group *group, const char *text, nlens_error *err)
{
    struct error cause = {0};
    struct condition *condition = condition_parse(group->trace, text, &cause);
    api_error(err, &cause);
    if (condition)
        add(group, condition);
    return condition ? 0 : cause.code;
}

static bool keeps_object(const struct condition *condition, const nlens_object *object)
{
    return condition->keep_object(object, condition->context) != 0;
}

static bool keeps_thread(const struct condition *condition, const nlens_thread *thread)
{
    return condition->keep_thread(thread, condition->context) != 0;
}

static bool keeps_access(const struct condition *condition, const nlens_access *access)
{
    return condition->keep_access(access, condition->context) != 0;
}

void nlens_group_objects_where(nlens_group *group, int (*keep)(const nlens_object *object, void *context),
                               void *context)
{
    struct condition *condition = mem_zalloc(sizeof *condition);
    *condition =
        (struct condition){.level = ASKS_OBJECTS, .object = keeps_object, .keep_object = keep, .context = context};
    add(group, condition);
}

void nlens_group_threads_where(nlens_group *group, int (*keep)(const nlens_thread *thread, void *context),
                               void *context)
{
    struct condition *condition = mem_zalloc(sizeof *condition);
    *condition =
        (struct condition){.level = ASKS_THREADS, .thread = keeps_thread, .keep_thread = keep, .context = context};
    add(group, condition);
}

void nlens_group_accesses_where(nlens_group *group, int (*keep)(const nlens_access *access, void *context),
                                void *context)
{
    struct condition *condition = mem_zalloc(sizeof *condition);
    *condition =
        (struct condition){.level = ASKS_ACCESSES, .access = keeps_access, .keep_access = keep, .context = context};
    add(group, condition);
}

void nlens_group_window(nlens_group *group, uint64_t start, uint64_t end)
{
    add(group, condition_window(start, end));
}

static uint32_t object_count(const nlens_group *group)
{
    return (uint32_t)flow_sampled_object_count(group->trace->flow);
}

static uint32_t thread_count(const nlens_group *group)
{
    return (uint32_t)flow_thread_count(group->trace->flow);
}

static void ask_objects(nlens_group *group, const struct condition *condition)
{
    uint32_t count = object_count(group);
    for (uint32_t i = 0; i < count; i++) {
        if (group->object_fits[i])
            group->object_fits[i] = condition->object(condition, api_object(group->trace, i)) != condition->negated;
    }
    group->object_fits[count] = group->object_fits[count] && condition->negated;
}

static void ask_functions(nlens_group *group, const struct condition *condition)
{
    uint32_t count = api_function_count(group->trace);
    if (!group->function_fits) {
        group->function_fits = mem_alloc(count + 1);
        memset(group->function_fits, 1, count + 1);
    }
    for (uint32_t i = 0; i < count; i++) {
        if (group->function_fits[i])
            group->function_fits[i] =
                condition->function(condition, api_function(group->trace, i)) != condition->negated;
    }
    group->function_fits[count] = group->function_fits[count] && condition->negated;
}

static void prepare(nlens_group *group)
{
    uint32_t objects = object_count(group), threads = thread_count(group);
    group->prepared = true;
    group->object_fits = mem_alloc(objects + 1);
    group->thread_fits = mem_alloc(threads + 1);
    memset(group->object_fits, 1, objects + 1);
    memset(group->thread_fits, 1, threads + 1);
    array_each (&group->conditions, struct condition *const, place) {
        const struct condition *condition = *place;
        switch (condition->level) {
        case ASKS_OBJECTS:
            ask_objects(group, condition);
            break;
        case ASKS_THREADS:
            for (uint32_t i = 0; i < threads; i++) {
                if (group->thread_fits[i])
                    group->thread_fits[i] =
                        condition->thread(condition, api_thread(group->trace, i)) != condition->negated;
            }
            break;
        case ASKS_FUNCTIONS:
            ask_functions(group, condition);
            break;
        case ASKS_ACCESSES:
            group->asks_accesses = true;
            break;
        }
    }
}

bool api_group_admits(nlens_group *group, const struct flow_access *access)
{
    if (!group->prepared)
        prepare(group);
    uint32_t object = access->object == FLOW_NONE ? object_count(group) : access->object;
    if (!group->object_fits[object] || !group->thread_fits[access->thread])
        return false;
    if (group->function_fits) {
        uint32_t function = api_function_of(group->trace, access);
        if (!group->function_fits[function == FLOW_NONE ? api_function_count(group->trace) : function])
            return false;
    }
    if (!group->asks_accesses)
        return true;
    nlens_access row;
    api_access(group->trace, access, &row);
    array_each (&group->conditions, struct condition *const, place) {
        if ((*place)->level == ASKS_ACCESSES && (*place)->access(*place, &row) == (*place)->negated)
            return false;
    }
    return true;
}

/* The place of the only byte that is set, or `count` when there are none or several. */
static size_t only_one(const uint8_t *bytes, size_t count)
{
    const uint8_t *first = memchr(bytes, 1, count);
    size_t rest = first ? (size_t)(bytes + count - first) - 1 : 0;
    return first && !memchr(first + 1, 1, rest) ? (size_t)(first - bytes) : count;
}

struct flow_iter *api_group_flow(nlens_group *group)
{
    const struct flow *flow = group->trace->flow;
    if (!group->prepared)
        prepare(group);
    size_t objects = object_count(group), threads = thread_count(group);
    size_t object = only_one(group->object_fits, objects + 1), thread = only_one(group->thread_fits, threads);
    if (object < objects)
        return flow_object_accesses(flow, (uint32_t)object);
    if (thread < threads)
        return flow_thread_accesses(flow, (uint32_t)thread);
    return flow_accesses(flow);
}

static void count(nlens_totals *totals, const struct flow_access *access)
{
    totals->samples++;
    totals->reads += (access->flags & SAMPLE_READ) != 0;
    totals->writes += access->write;
    totals->remote += access->remote;
    totals->home_known += access->home >= 0;
    totals->latency_sum += access->latency;
    totals->latency_count += access->has_latency;
}

static void sum_access(void *context, const struct flow_access *access)
{
    nlens_group *group = context;
    if (!api_group_admits(group, access))
        return;
    count(&group->totals, access);
    count(&group->thread_totals[access->thread], access);
    uint32_t function = api_function_of(group->trace, access);
    if (function != FLOW_NONE)
        count(&group->function_totals[function], access);
    if (access->object == FLOW_NONE)
        return;
    count(&group->object_totals[access->object], access);
    uint32_t site = flow_object_site(group->trace->flow, access->object);
    if (site != FLOW_NONE)
        count(&group->site_totals[site], access);
}

static void sum(nlens_group *group)
{
    struct flow *flow = group->trace->flow;
    if (group->summed)
        return;
    group->summed = true;
    group->totals = (nlens_totals){0};
    group->object_totals = mem_zalloc((object_count(group) + 1) * sizeof(nlens_totals));
    group->thread_totals = mem_zalloc((thread_count(group) + 1) * sizeof(nlens_totals));
    group->site_totals = mem_zalloc((flow_site_count(flow) + 1) * sizeof(nlens_totals));
    group->function_totals = mem_zalloc((api_function_count(group->trace) + 1) * sizeof(nlens_totals));
    flow_each_access(flow, sum_access, group, NULL); /* a damaged block ends it: nlens_damage reports */
}

const nlens_totals *nlens_group_totals(nlens_group *group)
{
    sum(group);
    return &group->totals;
}

const nlens_totals *nlens_group_object_totals(nlens_group *group, const nlens_object *object)
{
    sum(group);
    uint32_t none = object_count(group); /* its totals stay 0: for objects without samples */
    return &group->object_totals[object->id < none ? object->id : none];
}

const nlens_totals *nlens_group_site_totals(nlens_group *group, const nlens_site *site)
{
    sum(group);
    return &group->site_totals[site->id];
}

const nlens_totals *nlens_group_thread_totals(nlens_group *group, const nlens_thread *thread)
{
    sum(group);
    return &group->thread_totals[thread->id];
}

const nlens_totals *nlens_group_function_totals(nlens_group *group, const nlens_function *function)
{
    sum(group);
    return &group->function_totals[function->id];
}

struct rank {
    const void *row;
    uint32_t id;
    uint64_t key;
};

ORDER_BY(by_rank, struct rank, ORDER(b->key, a->key) ?: ORDER(a->id, b->id))

static uint64_t key_of(const nlens_totals *totals, int key)
{
    switch (key) {
    case NLENS_BY_SAMPLES:
        return totals->samples;
    case NLENS_BY_REMOTE:
        return totals->remote;
    case NLENS_BY_WRITES:
        return totals->writes;
    case NLENS_BY_LATENCY:
        return totals->latency_sum;
    default:
        return 0;
    }
}

typedef const void *row_at(nlens_trace *trace, uint32_t id);

static const void *object_at(nlens_trace *trace, uint32_t id)
{
    return api_object(trace, id);
}

static const void *site_at(nlens_trace *trace, uint32_t id)
{
    return nlens_site_by_id(trace, id);
}

static const void *thread_at(nlens_trace *trace, uint32_t id)
{
    return api_thread(trace, id);
}

static const void *function_at(nlens_trace *trace, uint32_t id)
{
    return api_function(trace, id);
}

static const void **ranked(nlens_group *group, unsigned place, const nlens_totals *totals, size_t rows, row_at *at,
                           int key, size_t *found)
{
    array_of(struct rank) ranks = {0};
    for (uint32_t i = 0; i < rows; i++) {
        if (totals[i].samples)
            array_push(&ranks, (struct rank){at(group->trace, i), i, key_of(&totals[i], key)});
    }
    array_sort(&ranks, by_rank);
    free(group->rows[place]);
    group->rows[place] = mem_alloc((ranks.count + 1) * sizeof **group->rows);
    for (size_t i = 0; i < ranks.count; i++)
        group->rows[place][i] = ranks.items[i].row;
    group->rows[place][ranks.count] = NULL;
    if (found)
        *found = ranks.count;
    array_free(&ranks);
    return group->rows[place];
}

const nlens_object *const *nlens_group_objects(nlens_group *group, int key, size_t *found)
{
    sum(group);
    return (const nlens_object *const *)ranked(group, 0, group->object_totals, object_count(group), object_at, key,
                                               found);
}

const nlens_site *const *nlens_group_sites(nlens_group *group, int key, size_t *found)
{
    sum(group);
    return (const nlens_site *const *)ranked(group, 1, group->site_totals, flow_site_count(group->trace->flow), site_at,
                                             key, found);
}

const nlens_thread *const *nlens_group_threads(nlens_group *group, int key, size_t *found)
{
    sum(group);
    return (const nlens_thread *const *)ranked(group, 2, group->thread_totals, thread_count(group), thread_at, key,
                                               found);
}

const nlens_function *const *nlens_group_functions(nlens_group *group, int key, size_t *found)
{
    sum(group);
    return (const nlens_function *const *)ranked(group, 3, group->function_totals, api_function_count(group->trace),
                                                 function_at, key, found);
}
