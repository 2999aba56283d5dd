#include "plan/plan_advise.h"

#include "analysis/thresholds.h"
#include "base/map64.h"
#include "base/text.h"
#include "plan/plan_subject.h"
#include "trace/session.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Threads are put on the nodes in turn, in order of their creation, wherever it matters which thread uses what: so the n-th thread of the
 * next run is on the node that the n-th of this one is counted for. */

enum { CHUNKS = PLACE_PARTS };

/* An object whose parts have users of their own is split where that is worth more than this above interleaving. */
static const double split_worth = 0.25;

struct candidate { /* an entry, and the accesses that it is about */
    const struct finding *finding;
    struct plan_entry *entry; /* moves while entries are added: set behind them */
    size_t number;
    uint64_t used_from;        /* by chunk and node, once it is initialised: who uses it */
    uint64_t *uses;            /* CHUNKS * node_count */
    uint64_t *filling;         /* likewise, until it is initialised */
    uint64_t accesses, remote; /* whose home is known */
    uint64_t by_others;        /* than the thread that allocated it */
    bool splits;
    bool together; /* it has no entry: its threads are kept together instead */
    bool copied;   /* the program's author can copy it to each node */
};

struct advising {
    struct placement_plan *plan;
    const struct findings *findings;
    const struct flow *flow;
    const struct topology *topology;
    array_of(uint32_t) nodes;  /* those with CPUs, by index */
    enum place_policy threads; /* of all of them; PLACE_POLICIES: as they are */
    char *threads_evidence;
    char *left; /* comments: findings that ask for a placement which no entry is about, and why */
    array_of(struct candidate) candidates;
    struct map64 of_object, of_site; /* + 1 */
    uint64_t known, remote, elsewhere_remote;
    uint64_t
        own_stack_remote; /* of the last: a thread's on its own stack, which is where the thread is once that is pinned */
};

static uint32_t node_of_thread(const struct advising *it, uint32_t thread)
{
    return it->nodes.items[flow_thread(it->flow, thread)->ordinal % it->nodes.count];
}

static bool places_memory(enum action action)
{
    return action == ACTION_ALLOCATE_NEAR || action == ACTION_FIRST_TOUCH || action == ACTION_MIGRATE ||
           action == ACTION_INTERLEAVE || action == ACTION_SEPARATE_PAGES || action == ACTION_DUPLICATE;
}

/* What the finding's advice means for a plan; false: nothing, or nothing that can be done, and why. */
static bool policy_of(const struct advising *it, const struct finding *finding, enum place_policy *policy, bool *splits,
                      const char **why)
{
    *splits = false;
    *why = NULL;
    for (size_t i = 0; i < finding->advice.count; i++) {
        enum action action = finding->advice.items[i].action;
        if (!places_memory(action))
            continue;
        const struct facts_subject *subject = finding->subject;
        if (action == ACTION_FIRST_TOUCH || (action == ACTION_MIGRATE && subject->using_nodes > 1)) {
            *splits = true;
            *policy = PLACE_INTERLEAVE; /* unless parts are found */
        } else if (action == ACTION_SEPARATE_PAGES || subject->private_instances > 1) {
            *policy = PLACE_LOCAL;
        } else if (action == ACTION_ALLOCATE_NEAR || action == ACTION_MIGRATE) {
            if (subject->main_user == FLOW_NONE) {
                *why = "which thread uses it most is not known";
                return false;
            }
            *policy = PLACE_PREFERRED;
        } else {
            *policy = PLACE_INTERLEAVE;
        }
        return it->nodes.count > 1;
    }
    return false;
}

static void add_comment(char **comments, const char *text)
{
    char *old = *comments, *line = mem_strdup(text);
    for (char *at = line; *at; at++)
        if (*at == '\n' || *at == '\t')
            *at = ' ';
    char *safe = text_safe(line);
    *comments = old ? mem_format("%s\n%s", old, safe) : mem_strdup(safe);
    free(line);
    free(safe);
    free(old);
}

/* Comments that there are already. */
static void add_lines(char **comments, const char *more)
{
    char *old = *comments;
    if (more)
        *comments = old ? mem_format("%s\n%s", old, more) : mem_strdup(more);
    if (more)
        free(old);
}

static struct candidate *add_candidate(struct advising *it, const struct finding *finding)
{
    const struct facts_subject *subject = finding->subject;
    bool by_site = subject->site != FLOW_NONE;
    array_push(&it->candidates,
               (struct candidate){.finding = finding,
                                  .used_from = subject->init_end,
                                  .uses = mem_zalloc(CHUNKS * it->topology->node_count * sizeof(uint64_t)),
                                  .filling = mem_zalloc(CHUNKS * it->topology->node_count * sizeof(uint64_t))});
    *map64_insert(by_site ? &it->of_site : &it->of_object, by_site ? subject->site : subject->object, NULL) =
        it->candidates.count;
    return &it->candidates.items[it->candidates.count - 1];
}

static void add_about(const struct finding *finding, char **comments)
{
    char *about = mem_format("%s: %s, %s", finding->name, pattern_name(finding->pattern),
                             finding->evidence ? finding->evidence : "");
    add_comment(comments, about);
    free(about);
}

/* Each process has its own, which all its threads use. */
static bool wants_processes(const struct finding *finding)
{
    return finding->advice.count && finding->advice.items[0].action == ACTION_PIN_TOGETHER &&
           (finding->pattern == PATTERN_CONCURRENT_REMOTE || finding->pattern == PATTERN_ALTERNATE_REMOTE);
}

/* The worst finding that depends on where threads are decides that: false for one that needs them elsewhere. */
static bool pin_threads(struct advising *it, enum place_policy threads)
{
    if (it->threads == PLACE_POLICIES)
        it->threads = threads;
    return it->threads == threads;
}

static void add_left(struct advising *it, const struct finding *finding, const char *why)
{
    char *text = mem_format("not placed: %s: %s: %s", finding->name, pattern_name(finding->pattern), why);
    if (it->nodes.count > 1)
        add_comment(&it->left, text);
    free(text);
}

static bool has_entry(const struct placement_plan *plan, enum place_kind kind, const char *name)
{
    array_each (&plan->entries, struct plan_entry, entry)
        if (entry->kind == kind && strcmp(entry->what, name) == 0)
            return true;
    return false;
}

/* The code for copies, which is better than what the entry does. */
static bool add_copies(const struct finding *finding, char **comments)
{
    bool any = false;
    for (size_t i = 0; i < finding->advice.count; i++) {
        const struct advice *advice = &finding->advice.items[i];
        if (advice->action != ACTION_DUPLICATE)
            continue;
        any = true;
        add_comment(comments, "better in the source: a copy on each node:");
        char *code = mem_strdup(advice->code), *save = NULL;
        for (char *line = strtok_r(code, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
            add_comment(comments, line);
        free(code);
    }
    return any;
}

static void add_entry(struct advising *it, const struct finding *finding, enum place_kind kind, const char *name,
                      enum place_policy policy, bool splits)
{
    struct plan_entry *entry = placement_plan_add(it->plan, kind, name, policy);
    add_about(finding, &entry->evidence);
    if (kind == PLACE_SITE)
        entry->lines = plan_site_lines(it->flow, flow_site(it->flow, finding->subject->site));
    entry->all = policy == PLACE_INTERLEAVE;
    if (policy == PLACE_PREFERRED)
        array_push(&entry->parts,
                   (struct plan_part){
                       (uint16_t)it->topology->nodes[node_of_thread(it, finding->subject->main_user)].os_index, 1});
    bool copied = add_copies(finding, &entry->evidence);
    struct candidate *candidate = add_candidate(it, finding);
    candidate->number = it->plan->entries.count - 1;
    candidate->splits = splits;
    candidate->copied = copied;
}

static const char threads_elsewhere[] = "a worse finding needs the threads elsewhere";

/* Only what has an entry decides where threads are. */
static void consider_memory(struct advising *it, const struct finding *finding)
{
    enum place_policy policy;
    enum place_kind kind;
    bool splits;
    const char *why;
    if (!finding->subject)
        return;
    if (!policy_of(it, finding, &policy, &splits, &why)) {
        if (why)
            add_left(it, finding, why);
        return;
    }
    char *name = plan_subject_name(it->plan, it->flow, finding->subject, &kind),
         *trouble = name ? plan_name_trouble(kind, name) : NULL;
    if (!name || trouble)
        add_left(it, finding, trouble ? trouble : "it has no name that a plan could have");
    else if (it->plan->entries.count + 1 == PLACE_ENTRIES) /* one is for threads */
        add_left(it, finding, "a plan has no room for more entries");
    else if (!has_entry(it->plan, kind, name)) {
        if ((splits || policy == PLACE_PREFERRED) && !pin_threads(it, PLACE_DISTRIBUTE))
            add_left(it, finding, threads_elsewhere);
        else
            add_entry(it, finding, kind, name, policy, splits);
    }
    free(name);
    free(trouble);
}

static void consider(struct advising *it, const struct finding *finding)
{
    if (!finding->subject || it->nodes.count < 2 || !wants_processes(finding)) {
        consider_memory(it, finding);
    } else if (pin_threads(it, PLACE_TOGETHER)) {
        add_about(finding, &it->threads_evidence);
        add_candidate(it, finding)->together = true;
    } else {
        add_left(it, finding, threads_elsewhere);
    }
}

static struct candidate *candidate_of(struct advising *it, uint32_t object)
{
    if (object == FLOW_NONE)
        return NULL;
    uint32_t site = flow_object_site(it->flow, object);
    const uint64_t *found = site != FLOW_NONE ? map64_find(&it->of_site, site) : map64_find(&it->of_object, object);
    return found ? &it->candidates.items[*found - 1] : NULL;
}

static bool is_own_stack(const struct advising *it, const struct flow_access *access)
{
    if (access->object == FLOW_NONE)
        return false;
    struct flow_object object = flow_object_copy(it->flow, access->object);
    return object.kind == OBJECT_STACK && object.alloc_thread == access->thread;
}

static void count_access(void *context, const struct flow_access *access)
{
    struct advising *it = context;
    bool known = access->home >= 0;
    struct candidate *candidate = candidate_of(it, access->object);
    it->known += known;
    it->remote += known && access->remote;
    if (!candidate) {
        it->elsewhere_remote += known && access->remote;
        it->own_stack_remote += known && access->remote && is_own_stack(it, access);
        return;
    }
    candidate->accesses += known;
    candidate->remote += known && access->remote;
    struct flow_object object = flow_object_copy(it->flow, access->object);
    candidate->by_others += known && object.alloc_thread != access->thread;
    bool fills = access->time < candidate->used_from && candidate->finding->subject->instances <= 1;
    uint64_t chunk = object.size ? (access->addr - object.addr) * CHUNKS / object.size : 0;
    if (chunk < CHUNKS)
        (fills ? candidate->filling
               : candidate->uses)[chunk * it->topology->node_count + node_of_thread(it, access->thread)]++;
}

static uint64_t most_of(const struct advising *it, const uint64_t *uses, uint32_t *node, uint64_t *all)
{
    *all = 0;
    *node = 0;
    for (uint32_t i = 0; i < it->topology->node_count; i++) {
        *all += uses[i];
        if (uses[i] > uses[*node])
            *node = i;
    }
    return uses[*node];
}

/* A single chunk between two of one other node is that node's too: few samples, or what initialises it. */
static void smooth(uint32_t users[CHUNKS])
{
    for (unsigned i = 1; i + 1 < CHUNKS; i++)
        if (users[i - 1] == users[i + 1])
            users[i] = users[i - 1];
}

/* Of all accesses, those from other nodes than the one that each part is on. */
static double far_share(const struct candidate *candidate, const uint32_t users[CHUNKS], uint32_t nodes)
{
    uint64_t far = 0, all = 0;
    for (size_t i = 0; i < (size_t)CHUNKS * nodes; i++) {
        uint64_t count = candidate->uses[i] + candidate->filling[i];
        all += count;
        far += i % nodes == users[i / nodes] ? 0 : count;
    }
    return all ? (double)far / (double)all : 0;
}

/* Parts of their own for the nodes that use them, when they have such; and of its accesses, those that stay remote. */
static double settle(struct advising *it, struct candidate *candidate)
{
    if (candidate->together)
        return 0;
    struct plan_entry *entry = &it->plan->entries.items[candidate->number];
    uint64_t most = 0, all = 0;
    uint32_t nodes = it->topology->node_count, node, before = UINT32_MAX;
    uint32_t users[CHUNKS];
    array_of(struct plan_part) parts = {0};
    for (unsigned i = 0; i < CHUNKS; i++) {
        uint64_t sum, top = most_of(it, &candidate->uses[(size_t)i * nodes], &node, &sum);
        most += top;
        all += sum;
        users[i] = before = sum == 0 && before != UINT32_MAX ? before : node;
    }
    smooth(users);
    for (unsigned i = 0; i < CHUNKS; i++) {
        uint16_t number = (uint16_t)it->topology->nodes[users[i]].os_index;
        if (parts.count && parts.items[parts.count - 1].node == number)
            parts.items[parts.count - 1].weight++;
        else
            array_push(&parts, (struct plan_part){number, 1});
    }
    double own = all ? (double)most / (double)all : 0, spread = 1.0 / (double)it->nodes.count, remote = 1 - spread;
    if (entry->policy == PLACE_LOCAL) {
        double others = candidate->accesses ? (double)candidate->by_others / (double)candidate->accesses : 0;
        if (others > 1 - others)
            add_comment(&entry->evidence,
                        "another thread than the one that uses it allocates it: what is local to that "
                        "one stays far; let each allocate its own, or try numalens migrate");
        remote *= others;
    }
    if (entry->policy == PLACE_PREFERRED) {
        int32_t home = topology_node_index(it->topology, entry->parts.items[0].node);
        for (unsigned i = 0; i < CHUNKS; i++)
            users[i] = home >= 0 ? (uint32_t)home : 0;
        remote = far_share(candidate, users, nodes);
    }
    if (candidate->splits && own > spread + split_worth && parts.count > 1) {
        entry->policy = PLACE_SPLIT;
        entry->all = false;
        array_free(&entry->parts);
        entry->parts.items = parts.items;
        entry->parts.count = parts.count;
        entry->parts.capacity = parts.capacity;
        return far_share(candidate, users, nodes);
    }
    array_free(&parts);
    return remote;
}

static void write_head(struct advising *it, const struct plan_expected *expected, bool interleaves)
{
    char *line;
    if (it->plan->entries.count == 0) {
        bool few = (double)it->findings->facts->bursts < thresholds.fewest_bursts;
        add_comment(&it->plan->head, it->nodes.count < 2 ? "there is one node: nothing to place"
                                     : it->left          ? "no entry is about what findings ask to be placed elsewhere"
                                     : few ? "too few samples to say: record for longer, or more often (-F)"
                                           : "no finding asks for another placement");
        return;
    }
    line = mem_format("remote accesses: %.1f%% recorded, %.1f%% expected with this plan", 100 * expected->before,
                      100 * expected->after);
    add_comment(&it->plan->head, line);
    free(line);
    if (expected->copied < expected->after) {
        line = mem_format("%.1f%% expected with the copies in the source instead", 100 * expected->copied);
        add_comment(&it->plan->head, line);
        free(line);
    }
    if (expected->after > expected->before)
        add_comment(&it->plan->head,
                    "more would be remote: that pays only where one node's memory is asked for too much; "
                    "numalens optimize measures it");
    const struct trace_session *session = flow_session(it->flow);
    const char *command = session ? trace_session_get(session, "command") : NULL; /* as a shell reads it */
    if (interleaves && command) {
        line = mem_format("one line does nearly the same: numactl --interleave=all %s", command);
        add_comment(&it->plan->head, line);
        free(line);
    }
}

int plan_advise(struct placement_plan *plan, const struct findings *findings, struct plan_expected *expected,
                struct error *err)
{
    struct advising it = {.plan = plan,
                          .findings = findings,
                          .flow = findings->facts->flow,
                          .topology = flow_topology(findings->facts->flow),
                          .threads = PLACE_POLICIES};
    *expected = (struct plan_expected){-1, -1, -1};
    plan->has_nodes = true;
    for (uint32_t i = 0; i < it.topology->node_count; i++) {
        placement_set_add(&plan->nodes, (uint32_t)it.topology->nodes[i].os_index);
        if (it.topology->nodes[i].cpu_count)
            array_push(&it.nodes, i);
    }
    if (it.nodes.count == 0)
        array_push(&it.nodes, 0);
    array_each (&findings->items, struct finding, finding)
        consider(&it, finding);
    int code = flow_each_access(it.flow, count_access, &it, err);
    double remote = (double)it.elsewhere_remote, copied = 0;
    bool pins = it.threads == PLACE_TOGETHER, separated = false, interleaves = plan->entries.count > 0 && !pins;
    array_each (&it.candidates, struct candidate, candidate) {
        double of_it = settle(&it, candidate) * (double)candidate->accesses;
        remote += of_it;
        copied += candidate->copied ? of_it : 0;
        free(candidate->uses);
        free(candidate->filling);
        if (candidate->together)
            continue;
        enum place_policy policy = plan->entries.items[candidate->number].policy;
        separated |= policy == PLACE_SPLIT || policy == PLACE_PREFERRED;
        pins |=
            separated || policy == PLACE_LOCAL; /* what is local to a thread is not once the scheduler has moved that */
        interleaves &= policy == PLACE_INTERLEAVE;
    }
    if (pins) {
        remote -= (double)it.own_stack_remote;
        struct plan_entry *entry = placement_plan_add(plan, PLACE_THREAD, "*",
                                                      it.threads == PLACE_TOGETHER ? PLACE_TOGETHER : PLACE_DISTRIBUTE);
        entry->evidence = it.threads == PLACE_TOGETHER ? it.threads_evidence
                          : separated
                              ? mem_strdup("the parts above are for threads on the nodes in turn, in order of creation")
                              : mem_strdup("what is local above stays so while threads stay on their nodes");
    }
    if (it.known)
        *expected = (struct plan_expected){(double)it.remote / (double)it.known, remote / (double)it.known,
                                           (remote - copied) / (double)it.known};
    write_head(&it, expected, interleaves);
    add_lines(&plan->head, it.left);
    free(it.left);
    array_free(&it.nodes);
    array_free(&it.candidates);
    map64_free(&it.of_object);
    map64_free(&it.of_site);
    return code;
}
