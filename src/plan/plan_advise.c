#include "plan/plan_advise.h"

#include "base/map64.h"
#include "base/text.h"
#include "flow/flow.h"
#include "symbols/search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Threads are put on the nodes in turn, in order of their creation, wherever it matters which thread uses what: so the n-th thread of the
 * next run is on the node that the n-th of this one is counted for. */

enum { CHUNKS = PLACE_PARTS, FRAMES_MOST = 64 };

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

static void count_range(void *context, uint64_t low, uint64_t high)
{
    (void)low;
    (void)high;
    (*(unsigned *)context)++;
}

static void join(char **text, const char *more)
{
    char *old = *text;
    *text = old ? mem_format("%s > %s", old, more) : mem_strdup(more);
    free(old);
}

/* No other site is on its line. */
static bool is_alone(const struct flow *flow, const struct flow_site *site)
{
    for (uint32_t i = 0; i < flow_site_count(flow); i++) {
        const struct flow_site *other = flow_site(flow, i);
        if (other != site && other->line == site->line && strcmp(other->file, site->file) == 0)
            return false;
    }
    return true;
}

/* "store.c:54" where that line is the call itself; else the chain up to it, as offsets. NULL: not known. */
static char *site_name(const struct advising *it, const struct flow_site *site)
{
    struct flow_frame frames[FRAMES_MOST];
    size_t count = flow_stack_places(it->flow, site->process, site->stack, frames, FRAMES_MOST), last = 0, physical = 0;
    if (count == 0)
        return NULL;
    while (last + 1 < count &&
           (frames[last].symbol.line != site->line || strcmp(frames[last].symbol.function, site->function) != 0))
        last++;
    if (frames[last].symbol.line != site->line || strcmp(frames[last].symbol.function, site->function) != 0)
        last = 0;
    char *chain = NULL;
    for (size_t i = 0; i <= last; i++) {
        if (i && frames[i].addr == frames[i - 1].addr)
            continue;
        if (!*frames[i].module || ++physical > PLACE_FRAMES) {
            free(chain);
            return NULL;
        }
        char *frame = mem_format("%s!0x%llx", frames[i].module, (unsigned long long)frames[i].addr + 1);
        join(&chain, frame);
        free(frame);
    }
    const struct flow_process *process = flow_process(it->flow, site->process);
    const char *exe = process ? process->exe : "";
    unsigned found = 0;
    if (last == 0 && is_alone(it->flow, site) && *site->file && strcmp(text_file_name(exe), frames[0].module) == 0 &&
        search_line(exe, text_file_name(site->file), site->line, count_range, &found) && found) {
        free(chain);
        return mem_format("%s:%u", text_file_name(site->file), site->line);
    }
    return chain;
}

/* The whole call chain by lines, up to the first frame that has none; NULL when that is the innermost. */
static char *site_lines(const struct advising *it, const struct flow_site *site)
{
    struct flow_frame frames[FRAMES_MOST];
    size_t count = flow_stack_places(it->flow, site->process, site->stack, frames, FRAMES_MOST);
    char *chain = NULL;
    for (size_t i = 0; i < count && *frames[i].symbol.file && frames[i].symbol.line; i++) {
        if (i && frames[i].addr == frames[i - 1].addr)
            continue; /* inlined here */
        char *frame = mem_format("%s:%u", text_file_name(frames[i].symbol.file), frames[i].symbol.line);
        join(&chain, frame);
        free(frame);
    }
    return chain;
}

/* As the symbol table has it; NULL when it does not. */
static char *static_name(const struct flow_object *object)
{
    const char *slash = strchr(object->name, '/');
    char *symbol = slash ? mem_format("%.*s_", (int)(slash - object->name), object->name) : mem_strdup(object->name);
    unsigned found = 0;
    if (search_object(object->path, symbol, count_range, &found) && found == 1)
        return symbol;
    free(symbol);
    return NULL;
}

static bool places_memory(enum action action)
{
    return action == ACTION_ALLOCATE_NEAR || action == ACTION_FIRST_TOUCH || action == ACTION_MIGRATE ||
           action == ACTION_INTERLEAVE || action == ACTION_SEPARATE_PAGES || action == ACTION_DUPLICATE;
}

static void add_program(struct advising *it, const char *path)
{
    char build_id[SEARCH_BUILD_ID];
    array_each (&it->plan->programs, struct plan_program, known)
        if (strcmp(known->path, path) == 0)
            return;
    if (*path == '/' && search_build_id(path, build_id))
        array_push(&it->plan->programs, (struct plan_program){0, mem_strdup(path), mem_strdup(build_id)});
}

static char *subject_name(struct advising *it, const struct facts_subject *subject, enum place_kind *kind)
{
    const struct flow_object *object = flow_object(it->flow, subject->object);
    const struct flow_site *site = subject->site == FLOW_NONE ? NULL : flow_site(it->flow, subject->site);
    if (!object)
        return NULL;
    if (object->kind == OBJECT_STATIC && !flow_object_thread_local(object)) {
        *kind = PLACE_STATIC;
        add_program(it, object->path);
        return static_name(object);
    }
    if (object->kind == OBJECT_FILE && *object->name == '/') {
        bool shared = strncmp(object->name, "/dev/shm/", 9) == 0;
        *kind = shared ? PLACE_SHM : PLACE_FILE;
        return mem_strdup(shared ? object->name + 9 : object->name);
    }
    if (strncmp(object->name, "/memfd:", 7) == 0) {
        *kind = PLACE_SHM;
        return mem_format("%.*s", (int)strcspn(object->name + 7, " "), object->name + 7);
    }
    if (!site || (object->kind != OBJECT_HEAP && object->kind != OBJECT_MAP))
        return NULL;
    *kind = PLACE_SITE;
    const struct flow_process *process = flow_process(it->flow, site->process);
    if (process)
        add_program(it, process->exe);
    return site_name(it, site);
}

/* What the finding's advice means for a plan; false: nothing. */
static bool policy_of(const struct advising *it, const struct finding *finding, enum place_policy *policy, bool *splits)
{
    *splits = false;
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
            if (subject->main_user == FLOW_NONE)
                return false;
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
        if (*at == '\n')
            *at = ' ';
    *comments = old ? mem_format("%s\n%s", old, line) : mem_strdup(line);
    free(line);
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

static void consider(struct advising *it, const struct finding *finding)
{
    enum place_policy policy;
    enum place_kind kind;
    bool splits;
    if (finding->subject && it->nodes.count > 1 && wants_processes(finding)) {
        if (!pin_threads(it, PLACE_TOGETHER))
            return;
        add_about(finding, &it->threads_evidence);
        add_candidate(it, finding)->together = true;
        return;
    }
    if (!finding->subject || !policy_of(it, finding, &policy, &splits))
        return;
    if ((splits || policy == PLACE_PREFERRED) && !pin_threads(it, PLACE_DISTRIBUTE))
        return;
    char *name = subject_name(it, finding->subject, &kind);
    if (!name)
        return;
    array_each (&it->plan->entries, struct plan_entry, other) {
        if (other->kind == kind && strcmp(other->what, name) == 0) {
            free(name);
            return;
        }
    }
    struct plan_entry *entry = placement_plan_add(it->plan, kind, name, policy);
    add_about(finding, &entry->evidence);
    if (kind == PLACE_SITE)
        entry->lines = site_lines(it, flow_site(it->flow, finding->subject->site));
    bool copied = false;
    entry->all = policy == PLACE_INTERLEAVE;
    if (policy == PLACE_PREFERRED)
        array_push(&entry->parts,
                   (struct plan_part){
                       (uint16_t)it->topology->nodes[node_of_thread(it, finding->subject->main_user)].os_index, 1});
    for (size_t i = 0; i < finding->advice.count; i++) {
        const struct advice *advice = &finding->advice.items[i];
        if (advice->action != ACTION_DUPLICATE)
            continue;
        copied = true;
        add_comment(&entry->evidence, "better in the source: a copy on each node:");
        char *code = mem_strdup(advice->code), *save = NULL;
        for (char *line = strtok_r(code, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
            add_comment(&entry->evidence, line);
        free(code);
    }
    struct candidate *candidate = add_candidate(it, finding);
    candidate->number = it->plan->entries.count - 1;
    candidate->splits = splits;
    candidate->copied = copied;
    free(name);
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
        add_comment(&it->plan->head, it->nodes.count < 2 ? "there is one node: nothing to place"
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
    const struct flow_process *process = flow_process(it->flow, 0);
    if (interleaves && process) {
        line = mem_format("one line does nearly the same: numactl --interleave=all %s", process->command);
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
        if (plan->entries.count + 1 < PLACE_ENTRIES)
            consider(&it, finding);
    int code = flow_each_access(it.flow, count_access, &it, err);
    double remote = (double)it.elsewhere_remote, copied = 0;
    bool pins = it.threads == PLACE_TOGETHER, interleaves = plan->entries.count > 0 && !pins;
    array_each (&it.candidates, struct candidate, candidate) {
        double of_it = settle(&it, candidate) * (double)candidate->accesses;
        remote += of_it;
        copied += candidate->copied ? of_it : 0;
        free(candidate->uses);
        free(candidate->filling);
        if (candidate->together)
            continue;
        enum place_policy policy = plan->entries.items[candidate->number].policy;
        pins |= policy == PLACE_SPLIT || policy == PLACE_PREFERRED;
        interleaves &= policy == PLACE_INTERLEAVE;
    }
    if (pins) {
        remote -= (double)it.own_stack_remote;
        struct plan_entry *entry = placement_plan_add(plan, PLACE_THREAD, "*", it.threads);
        entry->evidence =
            it.threads == PLACE_TOGETHER
                ? it.threads_evidence
                : mem_strdup("the parts above are for threads on the nodes in turn, in order of creation");
    }
    if (it.known)
        *expected = (struct plan_expected){(double)it.remote / (double)it.known, remote / (double)it.known,
                                           (remote - copied) / (double)it.known};
    write_head(&it, expected, interleaves);
    array_free(&it.nodes);
    array_free(&it.candidates);
    map64_free(&it.of_object);
    map64_free(&it.of_site);
    return code;
}
