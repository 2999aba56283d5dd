/* analysis/findings_advice.c - the change to make, why this one, and why not the others, each with its number. */
#include "analysis/findings_advice.h"

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

static bool may_duplicate(const struct consult *it)
{
    return it->subject->use != USE_WRITTEN && it->writes <= 100 * findings_bounds.duplicate_writes;
}

static void duplicate(struct consult *it)
{
    uint64_t bytes = subject_bytes(it->facts, it->subject, it->finding->is_site);
    const char *valid =
        it->subject->use == USE_READ_ONLY
            ? "nobody writes it after its initialisation"
            : text(it, "only %.1f%% of its accesses are writes, which must then go to each copy", it->writes);
    advise(it, ACTION_DUPLICATE,
           text(it, "%s; a copy takes %s, %u of them %s", valid, bytes_text(it, bytes), it->nodes,
                bytes_text(it, bytes * it->nodes)),
           code_duplicate(it));
}

static void not_duplicate(struct consult *it)
{
    against(it, ACTION_DUPLICATE, text(it, "not duplication: %.0f%% of its accesses are writes", it->writes));
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
        "   `number` tells processes apart; <numa.h>, -lnuma */\n"
        "numa_run_on_node(number % (numa_max_node() + 1));");
}

static void on_after_allocation(struct consult *it)
{
    const struct facts_subject *subject = it->subject;
    bool site = it->finding->is_site;
    bool moved = !site && subject->toucher != FLOW_NONE && subject->toucher == subject->main_user;
    double remote = 100 * part_of(subject->totals.remote, subject->totals.home_known);
    if (moved)
        advise(it, ACTION_PIN_TOGETHER, "its thread touched it first and went to another node since: keep it there",
               text(it, "numa_run_on_node(%d);  /* in that thread, at its start; <numa.h> */", it->home));
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
    advise(it, ACTION_MIGRATE, "where its user is not known yet when it is allocated; pays when it is used for long",
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
           text(it,
                "a page lies where it is touched first, and its %u threads keep to their parts (%.0f%% above chance)",
                it->subject->using_threads, 100 * it->subject->parted),
           code_touch(it));
    advise(it, ACTION_MIGRATE, "where its initialisation must stay as it is; each thread moves its part once",
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
    const char *move = text(it, "a turn lasts %.1f ms, moving it takes about %.1f ms (at %.0f GB/s)", turn_ns * 1e-6,
                            move_ns * 1e-6, findings_bounds.move_bytes_ns);
    struct by_process by = subject_by_process(it->facts, it->subject);
    if (by.pinnable)
        pin_processes(it, by);
    if (it->subject->use == USE_READ_ONLY)
        duplicate(it);
    if (can_move)
        advise(it, ACTION_MIGRATE, text(it, "when the turn changes; %s", move), code_migrate(it));
    if (may_duplicate(it) && it->subject->use != USE_READ_ONLY)
        duplicate(it);
    if (!by.pinnable)
        pin_or_not(it);
    if (it->finding->advice.count == 0)
        advise(it, ACTION_SPREAD, "turns are too short to move it, so let one node's threads do all the work on it",
               text(it, "numa_run_on_node(%d);  /* in threads that use it; <numa.h> */", it->home));
    if (!can_move)
        against(it, ACTION_MIGRATE, text(it, "not migration: %s", move));
    if (!may_duplicate(it))
        not_duplicate(it);
    against(
        it, ACTION_INTERLEAVE,
        text(it,
             "not interleaving: one node uses it at a time (%.0f%% as mixed as by chance), so no memory is overloaded",
             100 * it->subject->overlap));
}

static void on_concurrent(struct consult *it)
{
    struct by_process by = subject_by_process(it->facts, it->subject);
    if (by.pinnable)
        pin_processes(it, by);
    if (may_duplicate(it))
        duplicate(it);
    if (by.pinnable)
        against(it, ACTION_INTERLEAVE,
                text(it, "not interleaving: %.0f%% of the accesses would still be remote", spread_part(it)));
    else if (may_duplicate(it))
        advise(it, ACTION_INTERLEAVE, "where copies are too large; as much stays remote, but no node serves it all",
               code_interleave(it));
    else
        advise(it, ACTION_INTERLEAVE,
               text(it,
                    "%u nodes use it at the same time and write it; it can be near to one only, so share the load out",
                    it->subject->using_nodes),
               code_interleave(it));
    if (!may_duplicate(it))
        not_duplicate(it);
    if (!by.pinnable)
        pin_or_not(it);
    against(it, ACTION_MIGRATE,
            text(it, "not migration: %u nodes use it at the same time (%.0f%% as mixed as by chance)",
                 it->subject->using_nodes, 100 * it->subject->overlap));
}

static void on_mixed(struct consult *it)
{
    const struct facts_subject *subject = it->subject;
    advise(it, ACTION_SEPARATE_PAGES,
           text(it,
                "%u of %u are used by one thread only, but they lie together in %lu pages; an arena a thread keeps "
                "them apart",
                it->finding->is_site ? subject->private_instances : 1, subject->instances,
                (unsigned long)subject->mixed_pages),
           code_arena(it));
    against(it, ACTION_MIGRATE,
            text(it, "not migration: %lu of %lu pages hold things of several nodes",
                 (unsigned long)subject->mixed_pages, (unsigned long)subject->pages));
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
            "not migration, nor any other place: the line goes from cache to cache wherever its memory lies");
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
           code_interleave_all(it));
    if (count > 1)
        advise(it, ACTION_SPREAD, text(it, "each of these on another one: %s", names),
               "/* another node for each; #include <numa.h>, -lnuma */\n"
               "numa_alloc_onnode(size, node)");
    against(it, ACTION_PIN_TOGETHER,
            text(it, "not pinning all threads to node %d: the other nodes' CPUs and memory would stay idle",
                 node_number(it->facts, it->finding->node)));
}

static bool is_fortran(const char *file)
{
    const char *dot = file ? strrchr(file, '.') : NULL;
    return dot && (dot[1] == 'f' || dot[1] == 'F');
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
                         .fortran = is_fortran(finding->file)};
    it.address = it.name;
    if (it.subject) {
        it.writes = 100 * subject_writes(it.subject);
        it.is_static = subject_kind(facts, it.subject) == OBJECT_STATIC;
        it.home = node_number(facts, it.subject->main_home);
        it.user = node_number(facts, it.subject->main_user_node);
        if (it.is_static)
            it.address = findings_text(findings, "&%s", it.name);
    }
    on[finding->pattern](&it);
}
