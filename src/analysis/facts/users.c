/* analysis/facts/users.c - which threads use a subject, who initialised it, who writes, and whether it is private. */
#include "base/order.h"
#include "analysis/facts/facts_work.h"

#include <stdlib.h>

void users_begin(struct work *work, const struct flow_object *object)
{
    work->init_thread = FLOW_NONE;
    work->looks.thread = work->switch_thread = FLOW_NONE;
    work->looks.node = -1;
    work->start = object->start;
    work->init_end = object->start;
    work->init_over = object->kind == OBJECT_STACK; /* a stack is used from its first moment */
}

/* Initialisation is writing by one thread, the one that touched it first, until it reads or another thread comes. */
bool users_is_use(struct work *work, const struct flow_access *access)
{
    if (work->init_over)
        return true;
    if (work->init_thread == FLOW_NONE)
        work->init_thread = access->thread;
    if (access->thread == work->init_thread && access->write && !(access->flags & SAMPLE_READ)) {
        work->init_samples++;
        return false;
    }
    work->init_over = true;
    work->init_end = access->time;
    return true;
}

static struct user_work *add_user(struct work *work, uint32_t thread)
{
    if (work->users.count == work->users.capacity)
        array_fit(&work->users, work->users.count ? 2 * work->users.count : 1);
    array_push(&work->users, (struct user_work){.thread = thread, .node = -1});
    return &work->users.items[work->users.count - 1];
}

/* A few users are looked through; the map knows all users of those that have more. */
struct user_work *users_find(struct gathering *gathering, struct work *work, uint32_t subject, uint32_t thread)
{
    enum { FEW = 8 };
    uint64_t key = (uint64_t)subject << 32;
    if (work->last_user < work->users.count && work->users.items[work->last_user].thread == thread)
        return &work->users.items[work->last_user];
    if (work->users.count > FEW) {
        bool is_new;
        uint64_t *place = map64_insert(&gathering->user_of, key | thread, &is_new);
        if (is_new) {
            *place = work->users.count;
            add_user(work, thread);
        }
        work->last_user = (uint32_t)*place;
        return &work->users.items[*place];
    }
    uint32_t at = 0;
    while (at < work->users.count && work->users.items[at].thread != thread)
        at++;
    if (at == work->users.count)
        add_user(work, thread);
    for (uint32_t i = 0; work->users.count > FEW && i < work->users.count; i++)
        *map64_insert(&gathering->user_of, key | work->users.items[i].thread, NULL) = i;
    work->last_user = at;
    return &work->users.items[at];
}

struct user_work *users_add(struct gathering *gathering, struct work *work, uint32_t subject,
                            const struct flow_access *access, uint32_t burst, bool use, bool *new_burst)
{
    bool is_site = subject >= gathering->object_count; /* which sums up what its objects make of it */
    struct user_work *user = users_find(gathering, work, subject, access->thread);
    bool reads = access->flags & SAMPLE_READ;
    if (user->samples++ == 0)
        user->first = access->time;
    user->last = access->time;
    user->reads += reads;
    user->writes += access->write;
    user->remote += access->remote;
    user->init += !use && !is_site;
    *new_burst = user->last_burst != burst;
    user->last_burst = burst;
    user->bursts += *new_burst;
    user->use_bursts += *new_burst && use && !is_site;
    if (access->from >= 0) { /* the majority, if there is one */
        if (user->vote_weight == 0)
            user->node = access->from;
        user->vote_weight += user->node == access->from ? 1 : -1u;
    }
    work->read_seen |= reads;
    if (!work->read_seen) {
        work->early_writes++;
        user->early_writes++;
    }
    return user;
}

ORDER_BY(by_samples, struct user_work, ORDER(b->samples, a->samples) ?: ORDER(a->thread, b->thread))

static uint64_t used(const struct user_work *user)
{
    return user->samples - user->init;
}

/* Strays: the least users that make up 2% together at most, and each less than half of an equal share (so that none
 * of very many equal ones is taken for one); or the only one with a single burst of many: threads that have one each share it. */
static bool *find_strays(const struct work *work)
{
    size_t count = work->users.count;
    bool *stray = mem_zalloc(count + 1);
    uint64_t samples = 0, bursts = 0, less = 0, singles = 0;
    for (size_t i = 0; i < count; i++) {
        samples += used(&work->users.items[i]);
        bursts += work->users.items[i].use_bursts;
        singles += work->users.items[i].use_bursts == 1;
    }
    for (size_t i = 0; i < count; i++) {
        const struct user_work *user = &work->users.items[i];
        stray[i] = used(user) == 0 || (user->use_bursts == 1 && singles == 1 && (double)bursts >= thresholds.bursts &&
                                       user->bursts * count < bursts);
    }
    for (size_t i = count; i-- > 0;) { /* least samples last */
        const struct user_work *user = &work->users.items[i];
        less += used(user);
        if ((double)less > thresholds.stray * (double)samples)
            break;
        stray[i] |= (double)(used(user) * count) < thresholds.halfway * (double)samples;
    }
    return stray;
}

static void judge_sharing(struct facts_subject *subject, const struct work *work, uint32_t node_count)
{
    bool *stray = find_strays(work);
    bool *node_used = mem_zalloc(node_count + 1);
    uint64_t *node_samples = mem_zalloc((node_count + 1) * sizeof *node_samples), most = 0, most_node = 0;
    subject->main_user = FLOW_NONE;
    subject->main_user_node = -1;
    for (size_t i = 0; i < work->users.count; i++) {
        const struct user_work *user = &work->users.items[i];
        if (used(user) > most) {
            most = used(user);
            subject->main_user = user->thread;
        }
        if (user->node >= 0) {
            node_samples[user->node] += used(user);
            if (node_samples[user->node] > most_node) {
                most_node = node_samples[user->node];
                subject->main_user_node = user->node;
            }
        }
        if (stray[i])
            continue;
        subject->using_threads++;
        if (user->node >= 0 && !node_used[user->node]) {
            node_used[user->node] = true;
            subject->using_nodes++;
        }
    }
    subject->sharing = subject->using_threads < 2 ? SHARING_THREAD
                       : subject->using_nodes < 2 ? SHARING_NODE
                                                  : SHARING_ALL;
    free(stray);
    free(node_used);
    free(node_samples);
}

/* Several threads may initialise together: what is written before anybody reads is initialisation too, as long as it is
 * a small part. */
static void find_later_writes(const struct facts_subject *subject, struct work *work)
{
    bool early = work->read_seen && work->early_writes <= thresholds.part * (double)subject->totals.samples;
    array_each (&work->users, struct user_work, user) {
        uint64_t initial = early && user->early_writes > user->init ? user->early_writes : user->init;
        user->later_writes = user->writes - initial;
        work->later_samples += user->samples - initial;
    }
}

static void judge_use(struct facts_subject *subject, const struct work *work)
{
    uint64_t writes = 0;
    array_each (&work->users, const struct user_work, user) {
        subject->writers += user->later_writes > 0;
        writes += user->later_writes;
    }
    subject->use = writes == 0                                                       ? USE_READ_ONLY
                   : (double)writes <= thresholds.part * (double)work->later_samples ? USE_READ_MOSTLY
                                                                                     : USE_WRITTEN;
}

static void judge_toucher(const struct gathering *gathering, struct facts_subject *subject, const struct work *work)
{
    uint64_t most = 0;
    subject->toucher = FLOW_NONE;
    subject->toucher_node = -1;
    for (size_t i = 0; i < work->users.count; i++) {
        const struct user_work *user = &work->users.items[i];
        if (user->touched <= most)
            continue;
        most = user->touched;
        subject->toucher = user->thread;
        subject->toucher_node = user->node >= 0 ? user->node : (int16_t)flow_thread_node(gathering->flow, user->thread);
    }
}

static void judge(const struct gathering *gathering, struct facts_subject *subject, struct work *work)
{
    array_sort(&work->users, by_samples);
    judge_sharing(subject, work, gathering->facts->node_count);
    judge_use(subject, work);
    judge_toucher(gathering, subject, work);
    uint64_t most = 0;
    subject->main_home = -1;
    for (uint32_t node = 0; node < gathering->facts->node_count; node++) {
        if (subject->home[node] > most) {
            most = subject->home[node];
            subject->main_home = (int16_t)node;
        }
    }
    array_fit(&subject->users, work->users.count);
    array_each (&work->users, const struct user_work, user)
        array_push(&subject->users, (struct fact_user){.thread = user->thread,
                                                       .node = user->node,
                                                       .samples = user->samples,
                                                       .reads = user->reads,
                                                       .writes = user->writes,
                                                       .remote = user->remote,
                                                       .bursts = user->bursts,
                                                       .init = user->init,
                                                       .touched = user->touched,
                                                       .first = user->first,
                                                       .last = user->last});
}

static uint64_t used_by(const struct work *work, uint32_t thread)
{
    array_each (&work->users, const struct user_work, user) {
        if (user->thread == thread)
            return used(user);
    }
    return 0;
}

/* Initialisation is judged object by object. */
static void add_to_site(struct gathering *gathering, uint32_t object, struct site_work *site)
{
    const struct facts_subject *subject = &gathering->facts->objects.items[object];
    const struct work *work = &gathering->objects[object];
    struct facts_subject *sum = &gathering->facts->sites.items[subject->site];
    sum->init_samples += subject->init_samples;
    sum->alloc_thread_samples += subject->alloc_thread_samples;
    site->work.later_samples += work->later_samples;
    array_each (&work->users, const struct user_work, user) {
        struct user_work *same =
            users_find(gathering, &site->work, gathering->object_count + subject->site, user->thread);
        same->later_writes += user->later_writes;
        same->init += user->init;
        same->touched += user->touched;
        same->use_bursts += user->use_bursts;
    }
}

void users_finish(struct gathering *gathering, uint32_t object)
{
    struct facts_subject *subject = &gathering->facts->objects.items[object];
    struct work *work = &gathering->objects[object];
    if (!work->init_over) { /* nobody but one writer: that is its use */
        work->init_samples = 0;
        array_each (&work->users, struct user_work, user) {
            user->init = 0;
            user->use_bursts = user->bursts;
        }
    }
    subject->init_end = work->init_end;
    subject->init_samples = work->init_samples;
    find_later_writes(subject, work);
    judge(gathering, subject, work);
    subject->alloc_thread_samples = used_by(work, subject->alloc_thread);
    struct site_work *site = site_of(gathering, object);
    if (site)
        add_to_site(gathering, object, site);
}

void users_finish_site(struct gathering *gathering, uint32_t site)
{
    struct facts_subject *subject = &gathering->facts->sites.items[site];
    subject->init_end = gathering->facts->objects.items[subject->object].init_end;
    judge(gathering, subject, &gathering->sites[site].work);
}
