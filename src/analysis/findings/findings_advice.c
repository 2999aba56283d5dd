/* analysis/findings/findings_advice.c - the change to make, why this one, and why not the others, each with its number. */
#include "analysis/findings/findings_advice.h"

#include <stdio.h>
#include <string.h>

enum { COMMAND_MAX = 60, NAMED = 3 };

static void advise(struct consult *it, enum action action, const char *why, const char *code)
{
    array_push(&it->finding->advice, (struct advice){.action = action, .why = why, .code = code});
}

static void against(struct consult *it, enum action action, const char *why)
{
    array_push(&it->finding->against, (struct advice){.action = action, .why = why, .code = ""});
}

static const char *bytes_text(struct consult *it, uint64_t bytes)
{
    return bytes >= 10 << 20 ? text(it, "%lu MiB", (unsigned long)(bytes >> 20))
                             : text(it, "%lu KiB", (unsigned long)((bytes + 1023) >> 10));
}

/* Part of the accesses that is remote when pages lie on all nodes in turn. */
static double spread_part(const struct consult *it)
{
    return 100.0 * (it->nodes - 1) / it->nodes;
}

/* At most so much of its accesses writes it, 95% sure; in percent. */
static double writes_at_most(const struct consult *it)
{
    return 100 * claim_at_most(it->writes / 100, (double)it->subject->bursts);
}

static bool may_duplicate(const struct consult *it)
{
    return it->subject->use != USE_WRITTEN && it->subject->proof != PROOF_WRITTEN &&
           it->writes <= 100 * findings_bounds.duplicate_writes;
}

/* Copies go stale at the first write: they are advised only where write protection has shown that there is none. */
static bool is_proved(const struct consult *it)
{
    return it->subject->use == USE_READ_ONLY && it->subject->proof == PROOF_READ_ONLY;
}

static void duplicate(struct consult *it)
{
    uint64_t bytes = subject_bytes(it->facts, it->subject, it->finding->is_site);
    advise(it, ACTION_DUPLICATE,
           text(it,
                "no page of it was written after its initialisation, as write protection shows; a copy takes %s, %u of "
                "them "
                "%s",
                bytes_text(it, bytes), it->nodes, bytes_text(it, bytes * it->nodes)),
           code_duplicate(it));
}

static void not_duplicate(struct consult *it)
{
    if (!may_duplicate(it) && it->subject->proof == PROOF_WRITTEN)
        against(it, ACTION_DUPLICATE,
                text(it, "not duplication: %lu of its pages were written after its initialisation",
                     (unsigned long)it->subject->written_pages));
    else if (!may_duplicate(it))
        against(it, ACTION_DUPLICATE, text(it, "not duplication: %.0f%% of its accesses are writes", it->writes));
    else
        against(it, ACTION_DUPLICATE,
                text(it,
                     "not duplication before it is proved that no thread writes it: at most %.1f%% of its accesses are "
                     "writes (95%% sure); this run would prove it: %s",
                     writes_at_most(it), code_prove(it)));
}

/* All its threads on the node where it lies: when they fit there. */
static void pin_or_not(struct consult *it)
{
    const struct topology *topology = flow_topology(it->facts->flow);
    uint32_t cpus = it->subject->main_home >= 0 ? topology->nodes[it->subject->main_home].cpu_count : 0;
    const char *why = text(it, "%u threads use it, node %d has %u CPU%s", it->subject->using_threads, it->home, cpus,
                           cpus == 1 ? "" : "s");
    if (it->subject->using_threads <= cpus)
        advise(it, ACTION_PIN_TOGETHER, text(it, "%s; the rest of the machine stays idle", why), code_pin(it));
    else
        against(it, ACTION_PIN_TOGETHER, text(it, "not pinning them together: %s", why));
}

/* The pieces of several processes, each used by the threads of one: these belong together. */
static void pin_processes(struct consult *it, struct by_process by)
{
    advise(
        it, ACTION_PIN_TOGETHER,
        text(it,
             "%u processes have their own, and only the threads of one (%u at most) share it; they fit on a node (%u "
             "CPUs), and then all of it is local",
             by.processes, by.most_threads, by.cpus),
        "/* in each process, before it makes its threads;\n"
        "   `number` is different in each process; <numa.h>, -lnuma */\n"
        "numa_run_on_node(number % (numa_max_node() + 1));");
}

/* Part of a heap object's pages that were touched before it was allocated: the C library had them from an earlier use. */
static double recycled_part(const struct consult *it)
{
    const struct flow_touched *rows;
    size_t count = flow_object_touched(it->facts->flow, it->subject->object, &rows);
    uint64_t pages = 0, fresh = 0;
    for (size_t i = 0; i < count; i++) {
        pages += rows[i].pages;
        fresh += rows[i].fresh;
    }
    return part_of(pages - fresh, pages);
}

/* Its user allocates it already, and still it is far: the allocator gave out pages that another thread had touched. */
static bool is_recycled(const struct consult *it)
{
    const struct facts_subject *subject = it->subject;
    return subject_kind(it->facts, subject) == OBJECT_HEAP && recycled_part(it) >= 0.5 &&
           part_of(subject->alloc_thread_samples, subject->totals.samples - subject->init_samples) >=
               findings_bounds.mostly;
}

static void on_recycled(struct consult *it)
{
    advise(
        it, ACTION_SEPARATE_PAGES,
        text(it,
             "the thread that uses it allocates it already, but %.0f%% of its pages are recycled: the allocator had "
             "them "
             "from another thread, which touched them first; an allocator with arenas that keep their pages, or a free "
             "in the thread that allocates, keeps them apart",
             100 * recycled_part(it)),
        code_allocator(it));
    against(it, ACTION_ALLOCATE_NEAR, "not another place to allocate it: its user allocates it");
    against(it, ACTION_INTERLEAVE,
            text(it, "not interleaving: %.0f%% of the accesses would still be remote", spread_part(it)));
}

/* The pages of a stack are its thread's own, but the first: it is far when the thread was moved. */
static void on_stack(struct consult *it)
{
    advise(it, ACTION_PIN_TOGETHER,
           "a stack is on the node where its thread began: keep the thread there, or let it move before it works",
           code_pin_thread(it, it->user));
    against(it, ACTION_INTERLEAVE, "not interleaving, nor any other place: a stack is its thread's own");
}

/* Threads that use another's locals: a loop's bounds and pointers that a parallel region takes by reference. */
static void on_shared_stack(struct consult *it)
{
    advise(it, ACTION_OWN_COPY,
           text(it, "%u threads on %u nodes use variables of one thread's stack, which is on that thread's node",
                it->subject->using_threads, it->subject->using_nodes),
           code_own_copy(it));
    against(it, ACTION_INTERLEAVE, "not interleaving: the thread's own variables would be spread with them");
    against(it, ACTION_MIGRATE, "not migration: a stack belongs on the node of its thread");
}

/* The C library clears a thread-local variable in the thread that creates its thread; a thread that has moved since touched its copy
 * itself. */
static bool is_cleared_elsewhere(const struct consult *it)
{
    return subject_thread_local(it->facts, it->subject) && it->subject->toucher != it->subject->alloc_thread;
}

static void on_thread_local(struct consult *it)
{
    advise(
        it, ACTION_ALLOCATE_NEAR,
        "it is thread-local: the C library clears it in the thread that creates its thread, and so on that one's node; "
        "what a thread allocates itself and touches first is local to it",
        code_own_memory(it));
    advise(it, ACTION_MIGRATE, "when the program cannot change; each thread's pages are migrated once",
           text(it, "numalens migrate -- %s", it->app));
    against(it, ACTION_INTERLEAVE,
            text(it, "not interleaving: %.0f%% of the accesses would still be remote", spread_part(it)));
    against(it, ACTION_DUPLICATE, "not duplication: each thread has its own already");
}

static void on_after_allocation(struct consult *it)
{
    const struct facts_subject *subject = it->subject;
    if (is_cleared_elsewhere(it)) {
        on_thread_local(it);
        return;
    }
    if (is_recycled(it)) {
        on_recycled(it);
        return;
    }
    bool site = it->finding->is_site;
    bool moved = !site && subject->toucher != FLOW_NONE && subject->toucher == subject->main_user;
    double remote = 100 * part_of(subject->totals.remote, subject->totals.home_known);
    if (moved)
        advise(it, ACTION_PIN_TOGETHER,
               "its thread touched it first and has moved to another node since: keep it on the first",
               code_pin_thread(it, it->home));
    else if (site)
        advise(
            it, ACTION_ALLOCATE_NEAR,
            text(it,
                 "%u of %u are used by one thread only, and what a thread allocates and touches first is local to it",
                 subject->private_instances, subject->instances),
            code_near(it));
    else
        advise(it, ACTION_ALLOCATE_NEAR,
               text(it, "node %d uses it, and %.0f%% of the accesses are remote", it->user, remote), code_near(it));
    advise(it, ACTION_MIGRATE,
           "when the node that will use it is not known at allocation; pays off when it is used for long",
           code_migrate(it));
    against(it, ACTION_INTERLEAVE,
            text(it, "not interleaving: %.0f%% of the accesses would still be remote", spread_part(it)));
    if (may_duplicate(it))
        against(it, ACTION_DUPLICATE, "not duplication: no second node uses it");
    else
        against(it, ACTION_DUPLICATE,
                text(it, "not duplication: no second node uses it, and %.0f%% of its accesses are writes", it->writes));
    if (!site && !moved)
        pin_or_not(it);
}

static void on_far_initialised(struct consult *it)
{
    advise(it, ACTION_FIRST_TOUCH,
           text(it, "a page's home is the node that touches it first, and its %u threads each use their own part%s",
                it->subject->using_threads, separated_text(it->findings, it->subject)),
           code_touch(it));
    advise(it, ACTION_MIGRATE, "when its initialisation cannot change; each thread migrates its part once",
           code_migrate(it));
    against(it, ACTION_INTERLEAVE,
            text(it, "not interleaving: %.0f%% of the accesses would still be remote", spread_part(it)));
    against(it, ACTION_DUPLICATE, "not duplication: the threads use different parts, there is nothing to copy");
    against(it, ACTION_PIN_TOGETHER,
            text(it, "not pinning them together: %u threads would share one node's CPUs and memory",
                 it->subject->using_threads));
}

static void on_alternate(struct consult *it)
{
    double bytes = (double)subject_bytes(it->facts, it->subject, it->finding->is_site);
    double move_ns = bytes / findings_bounds.move_bytes_ns, turn_ns = (double)it->subject->switch_ns;
    bool can_move = move_ns <= findings_bounds.move_of_turn * turn_ns;
    const char *move =
        text(it, "one thread uses it for %.1f ms at a time, migrating it takes about %.1f ms (at %.0f GB/s)",
             turn_ns * 1e-6, move_ns * 1e-6, findings_bounds.move_bytes_ns);
    struct by_process by = subject_by_process(it->facts, it->subject);
    if (by.pinnable)
        pin_processes(it, by);
    if (is_proved(it))
        duplicate(it);
    if (can_move)
        advise(it, ACTION_MIGRATE, text(it, "when another thread takes over; %s", move), code_migrate(it));
    if (!by.pinnable)
        pin_or_not(it);
    if (it->finding->advice.count == 0)
        advise(it, ACTION_SPREAD,
               "each thread uses it too briefly to migrate it, so let one node's threads do all the work on it",
               code_pin_thread(it, it->home));
    if (!can_move)
        against(it, ACTION_MIGRATE, text(it, "not migration: %s", move));
    if (!is_proved(it))
        not_duplicate(it);
    against(it, ACTION_INTERLEAVE,
            text(it, "not interleaving: one node uses it at a time (%.0f%% interleaved), so no memory is overloaded",
                 100 * it->subject->overlap));
}

static void on_concurrent(struct consult *it)
{
    struct by_process by = subject_by_process(it->facts, it->subject);
    if (by.pinnable)
        pin_processes(it, by);
    if (is_proved(it))
        duplicate(it);
    if (by.pinnable)
        against(it, ACTION_INTERLEAVE,
                text(it, "not interleaving: %.0f%% of the accesses would still be remote", spread_part(it)));
    else if (is_proved(it))
        advise(it, ACTION_INTERLEAVE,
               "where copies are too large; as many accesses stay remote, but no node serves them all",
               code_interleave(it));
    else
        advise(it, ACTION_INTERLEAVE,
               text(it, "%u nodes use it at the same time%s; it can be local to one only, so spread the load",
                    it->subject->using_nodes, may_duplicate(it) ? "" : " and write it"),
               code_interleave(it));
    if (!is_proved(it))
        not_duplicate(it);
    if (!by.pinnable)
        pin_or_not(it);
    against(it, ACTION_MIGRATE,
            text(it, "not migration: %u nodes use it at the same time (%.0f%% interleaved)", it->subject->using_nodes,
                 100 * it->subject->overlap));
}

static void on_mixed(struct consult *it)
{
    const struct facts_subject *subject = it->subject;
    advise(it, ACTION_SEPARATE_PAGES,
           text(it,
                "%u of %u are used by one thread only, but they share %lu pages; one arena per thread separates them",
                it->finding->is_site ? subject->private_instances : 1, subject->instances,
                (unsigned long)subject->mixed_pages),
           code_arena(it));
    against(it, ACTION_MIGRATE,
            text(it, "not migration: %lu of %lu pages hold data of several nodes", (unsigned long)subject->mixed_pages,
                 (unsigned long)subject->pages));
    against(it, ACTION_INTERLEAVE,
            text(it, "not interleaving: %.0f%% of the accesses would be remote", spread_part(it)));
    against(it, ACTION_DUPLICATE, "not duplication: each is used by one thread only");
}

static void on_false_sharing(struct consult *it)
{
    advise(it, ACTION_PAD,
           text(it, "%u threads write different bytes of the same lines; with a line for each, none waits for another",
                it->subject->writers),
           code_pad(it));
    against(it, ACTION_MIGRATE,
            "not migration, nor any other node: the line moves from cache to cache whatever its home node");
}

/* The hottest findings on this node's memory: "block, grid". */
static const char *hottest(struct consult *it, size_t *count)
{
    char names[NAMED * 64] = "";
    size_t used = 0;
    *count = 0;
    array_each (&it->findings->items, const struct finding, finding) {
        if (!finding->subject || finding->pattern == PATTERN_FALSE_SHARING ||
            finding->subject->main_home != it->finding->node || *count == NAMED)
            continue;
        int length = snprintf(names + used, sizeof names - used, "%s%.48s", *count ? ", " : "", finding->name);
        used += length > 0 ? (size_t)length : 0;
        ++*count;
    }
    return text(it, "%s", names);
}

static void on_node(struct consult *it)
{
    size_t count;
    const char *names = hottest(it, &count);
    if (count > 0)
        it->finding->evidence = text(it, "%s Its hottest: %s.", it->finding->evidence, names);
    advise(it, ACTION_INTERLEAVE,
           text(it, "%u nodes use the one memory; over all nodes, each serves a part%s",
                nodes_taking_part(it->facts, (uint32_t)it->finding->node),
                count ? ". Where an object has a finding of its own, that comes first" : ""),
           it->whole ? code_interleave_all(it)
                     : "Spread the large objects of this node, one by one:\nthe findings on them say how.");
    if (count > 1)
        advise(it, ACTION_SPREAD, text(it, "each of these on another one: %s", names),
               "/* another node for each; #include <numa.h>, -lnuma */\n"
               "numa_alloc_onnode(size, node)");
    against(it, ACTION_PIN_TOGETHER,
            text(it, "not pinning all threads to node %d: the other nodes' CPUs and memory would stay idle",
                 node_number(it->facts, it->finding->node)));
}

static enum language language_of(const struct finding *finding)
{
    const char *file = finding->file;
    static const struct {
        const char *ending;
        enum language language;
    } endings[] = {
        {"c", LANGUAGE_C},         {"h", LANGUAGE_C},         {"cc", LANGUAGE_CXX},      {"cpp", LANGUAGE_CXX},
        {"cxx", LANGUAGE_CXX},     {"C", LANGUAGE_CXX},       {"hh", LANGUAGE_CXX},      {"hpp", LANGUAGE_CXX},
        {"f", LANGUAGE_FORTRAN},   {"F", LANGUAGE_FORTRAN},   {"for", LANGUAGE_FORTRAN}, {"f90", LANGUAGE_FORTRAN},
        {"F90", LANGUAGE_FORTRAN}, {"f95", LANGUAGE_FORTRAN}, {"f03", LANGUAGE_FORTRAN}, {"f08", LANGUAGE_FORTRAN}};
    const char *dot = file ? strrchr(file, '.') : NULL;
    if (!file || !*file)
        return LANGUAGE_C; /* nothing is known of it: a program without debug information */
    for (size_t i = 0; dot && i < sizeof endings / sizeof *endings; i++) {
        if (strcmp(dot + 1, endings[i].ending) == 0)
            return endings[i].language == LANGUAGE_C && finding->by_new ? LANGUAGE_CXX : endings[i].language; /* a .h */
    }
    return LANGUAGE_OTHER;
}

/* Commands that change all of the program are for a finding that most remote accesses have, on memory, not on a stack or a
 * few pages; of a node: whose objects have no findings with another cure for most of it. */
static bool is_whole(const struct findings *findings, const struct finding *finding)
{
    enum { LARGE = 1 << 20 };
    if (finding->share_of_remote < 0.5)
        return false;
    if (finding->subject)
        return subject_kind(findings->facts, finding->subject) != OBJECT_STACK &&
               subject_bytes(findings->facts, finding->subject, finding->is_site) >= LARGE;
    double others = 0;
    array_each (&findings->items, const struct finding, other) {
        bool cure = other->advice.count && other->advice.items[0].action == ACTION_INTERLEAVE;
        others += other->subject && !cure ? other->share_of_remote : 0;
    }
    array_each (&findings->undecided, const struct undecided, other)
        others += other->finding.share_of_remote; /* it may want another cure */
    return others < 0.5;
}

void finding_advise(struct findings *findings, struct finding *finding)
{
    static void (*const on[PATTERNS])(struct consult *) = {
        [PATTERN_REMOTE_AFTER_ALLOCATION] = on_after_allocation,
        [PATTERN_ALTERNATE_REMOTE] = on_alternate,
        [PATTERN_CONCURRENT_REMOTE] = on_concurrent,
        [PATTERN_SATURATED_NODE] = on_node,
        [PATTERN_FAR_INITIALISED] = on_far_initialised,
        [PATTERN_MIXED_PAGES] = on_mixed,
        [PATTERN_FALSE_SHARING] = on_false_sharing,
    };
    const struct facts *facts = findings->facts;
    const struct trace_session *session = flow_session(facts->flow);
    const char *command = session ? trace_session_get(session, "command") : NULL;
    struct consult it = {.findings = findings,
                         .finding = finding,
                         .facts = facts,
                         .subject = finding->subject,
                         .name = finding->named ? finding->name : "data",
                         .app = command && *command && strlen(command) <= COMMAND_MAX ? command : "./app ...",
                         .nodes = facts->node_count,
                         .whole = is_whole(findings, finding),
                         .language = language_of(finding)};
    it.is_container = finding->named && it.language == LANGUAGE_CXX && *finding->via;
    it.address = it.name;
    if (it.subject) {
        it.writes = 100 * subject_writes(it.subject);
        it.is_static = subject_kind(facts, it.subject) == OBJECT_STATIC;
        it.home = node_number(facts, it.subject->main_home);
        it.user = node_number(facts, it.subject->main_user_node);
        if (it.is_static)
            it.address = findings_text(findings, "&%s", it.name);
    }
    if (it.is_container)
        it.address = findings_text(findings, "&%s[0]", it.name);
    bool is_stack = it.subject && subject_kind(facts, it.subject) == OBJECT_STACK;
    if (is_stack && finding->pattern == PATTERN_REMOTE_AFTER_ALLOCATION)
        on_stack(&it);
    else if (is_stack && finding->pattern != PATTERN_FALSE_SHARING)
        on_shared_stack(&it);
    else
        on[finding->pattern](&it);
}
