/* analysis/findings_advice.c - the change to make, why this one, and why not the others, each with its number.
 *
 * Code is made for the language of the file it goes into (C, C++ or Fortran) and uses the name that stands there. */
#include "analysis/findings_internal.h"

#include <stdio.h>
#include <string.h>

enum { COMMAND_MAX = 60 };

struct case_ { /* what all advice on one finding needs */
    struct findings *findings;
    struct finding *finding;
    const struct facts *facts;
    const struct facts_subject *subject; /* NULL of a node */
    const char *name;                    /* as code can use it */
    const char *app;                     /* the command that was recorded */
    const char *pin_why;                 /* set by fits_node */
    double writes;                       /* percent */
    uint32_t nodes;
    bool fortran, is_static;
};

static void advise(struct case_ *it, enum action action, const char *why, const char *code)
{
    array_push(&it->finding->advice, (struct advice){.action = action, .why = why, .code = code});
}

static void against(struct case_ *it, enum action action, const char *why)
{
    array_push(&it->finding->against, (struct advice){.action = action, .why = why, .code = ""});
}

#define text(it, ...) findings_text((it)->findings, __VA_ARGS__)

static int home_number(const struct case_ *it)
{
    return node_number(it->facts, it->subject->main_home);
}

static int user_number(const struct case_ *it)
{
    return node_number(it->facts, it->subject->main_user_node);
}

static const char *bytes_text(struct case_ *it, uint64_t bytes)
{
    return bytes >= 10 << 20 ? text(it, "%lu MiB", (unsigned long)(bytes >> 20))
                             : text(it, "%lu KiB", (unsigned long)((bytes + 1023) >> 10));
}

/* Whether the threads that use it all fit on one node. */
static bool fits_node(struct case_ *it)
{
    const struct topology *topology = flow_topology(it->facts->flow);
    uint32_t cpus = it->subject->main_home >= 0 ? topology->nodes[it->subject->main_home].cpu_count : 0;
    it->pin_why = text(it, "%u threads use it, node %d has %u CPU%s", it->subject->using_threads, home_number(it), cpus,
                       cpus == 1 ? "" : "s");
    return it->subject->using_threads <= cpus;
}

static const char *pin_code(struct case_ *it)
{
    return text(it, "numactl --cpunodebind=%d --membind=%d %s", home_number(it), home_number(it), it->app);
}

static const char *interleave_all(struct case_ *it)
{
    return text(it, "numactl --interleave=all %s", it->app);
}

static const char *interleave_code(struct case_ *it)
{
    if (it->fortran || !it->finding->named)
        return interleave_all(it);
    if (it->is_static)
        return text(it,
                    "/* page-align %s; before its first use; #include <numa.h>, link with -lnuma */\n"
                    "numa_interleave_memory(&%s, sizeof %s, numa_all_nodes_ptr);",
                    it->name, it->name, it->name);
    return text(it,
                "%s = numa_alloc_interleaved(size);  /* instead of the allocation; -lnuma; release with numa_free */",
                it->name);
}

static const char *near_code(struct case_ *it)
{
    if (it->is_static || it->fortran)
        return text(it,
                    "/* before the first touch, in the thread that uses it; #include <numa.h>, -lnuma */\n"
                    "numa_tonode_memory(&%s, sizeof %s, %d);",
                    it->name, it->name, user_number(it));
    if (it->finding->is_site)
        return text(it,
                    "/* in the thread that uses it, before it reads or writes it first: */\n"
                    "%s = numa_alloc_local(size);  /* -lnuma; release with numa_free */",
                    it->name);
    return text(it,
                "%s = numa_alloc_onnode(size, %d);  /* instead of the allocation; -lnuma; release with numa_free */",
                it->name, user_number(it));
}

static const char *migrate_code(struct case_ *it)
{
    return text(it,
                "/* in the thread that uses it from now on; #include <numa.h>, <numaif.h>, link with -lnuma */\n"
                "unsigned long here = 1ul << numa_node_of_cpu(sched_getcpu());\n"
                "mbind(%s%s, size, MPOL_BIND, &here, 64, MPOL_MF_MOVE);  /* from the start of a page */",
                it->is_static ? "&" : "", it->name);
}

static const char *touch_code(struct case_ *it)
{
    if (it->fortran)
        return text(it,
                    "!$omp parallel do schedule(static)   ! the same bounds and schedule as the loop that uses it\n"
                    "do i = 1, n\n"
                    "   %s(i) = 0\n"
                    "end do",
                    it->name);
    return text(it,
                "#pragma omp parallel for schedule(static)  /* as the loop that uses it; or each thread its part */\n"
                "for (size_t i = 0; i < count; i++)\n"
                "    %s[i] = 0;",
                it->name);
}

static const char *duplicate_code(struct case_ *it)
{
    return text(it,
                "/* after its initialisation; #include <numa.h>, link with -lnuma */\n"
                "for (int node = 0; node <= numa_max_node(); node++) {\n"
                "    copy[node] = numa_alloc_onnode(size, node);\n"
                "    memcpy(copy[node], %s%s, size);\n"
                "}\n"
                "/* and in each thread, instead of %s: */ copy[numa_node_of_cpu(sched_getcpu())]",
                it->is_static ? "&" : "", it->name, it->name);
}

static void not_duplicate(struct case_ *it)
{
    against(it, ACTION_DUPLICATE, text(it, "not duplication: %.0f%% of its accesses are writes", it->writes));
}

static void pin_or_not(struct case_ *it)
{
    if (fits_node(it))
        advise(it, ACTION_PIN_TOGETHER,
               text(it, "%s, so they fit there; the rest of the machine stays idle", it->pin_why), pin_code(it));
    else
        against(it, ACTION_PIN_TOGETHER, text(it, "not pinning them together: %s", it->pin_why));
}

/* The pieces of several processes, each used by the threads of one: these belong together. */
static void pin_processes(struct case_ *it, struct by_process by)
{
    advise(it, ACTION_PIN_TOGETHER,
           text(it,
                "%u processes have their own, and only the threads of one process (%u at most) share it: they fit on a "
                "node (%u CPUs), and then all of it is local",
                by.processes, by.most_threads, by.cpus),
           "/* in each process, before it makes its threads; `number` tells processes apart; #include <numa.h>, -lnuma "
           "*/\n"
           "numa_run_on_node(number % (numa_max_node() + 1));");
}

static void on_after_allocation(struct case_ *it)
{
    double spread = 100.0 * (it->nodes - 1) / it->nodes;
    if (it->finding->is_site)
        advise(it, ACTION_ALLOCATE_NEAR,
               text(it,
                    "%u of %u are used by one thread only: what that thread allocates and touches first is local to it",
                    it->subject->private_instances, it->subject->instances),
               near_code(it));
    else
        advise(it, ACTION_ALLOCATE_NEAR,
               text(it, "only node %d uses it (%.0f%% of its accesses are remote)", user_number(it),
                    100 * part_of(it->subject->totals.remote, it->subject->totals.home_known)),
               near_code(it));
    advise(it, ACTION_MIGRATE,
           "where the user is not known when it is allocated: pays when it is used for long afterwards",
           migrate_code(it));
    against(it, ACTION_INTERLEAVE, text(it, "not interleaving: %.0f%% of the accesses would still be remote", spread));
    against(it, ACTION_DUPLICATE,
            it->writes > 100 * findings_bounds.duplicate_writes
                ? text(it, "not duplication: %.0f%% of its accesses are writes, and no second node uses it", it->writes)
                : "not duplication: no second node uses it");
    if (!it->finding->is_site)
        pin_or_not(it);
}

static void on_far_initialised(struct case_ *it)
{
    double spread = 100.0 * (it->nodes - 1) / it->nodes;
    advise(it, ACTION_FIRST_TOUCH,
           text(it, "a page lies where it is touched first; its %u threads keep to their parts (%.0f%% above chance)",
                it->subject->using_threads, 100 * it->subject->parted),
           touch_code(it));
    advise(it, ACTION_MIGRATE, "where its initialisation must stay as it is: each thread moves its part once",
           migrate_code(it));
    against(it, ACTION_INTERLEAVE, text(it, "not interleaving: %.0f%% of the accesses would still be remote", spread));
    against(it, ACTION_DUPLICATE, "not duplication: the threads use different parts, there is nothing to copy");
    against(it, ACTION_PIN_TOGETHER,
            text(it, "not pinning them together: %u threads would share one node's CPUs and memory",
                 it->subject->using_threads));
}

static void on_alternate(struct case_ *it)
{
    double move_ns =
        (double)subject_bytes(it->facts, it->subject, it->finding->is_site) / findings_bounds.move_bytes_ns;
    double turn_ns = (double)it->subject->switch_ns;
    bool read = it->writes <= 100 * findings_bounds.duplicate_writes;
    const char *move = text(it, "a turn lasts %.1f ms, moving it takes about %.1f ms (at %.0f GB/s)", turn_ns * 1e-6,
                            move_ns * 1e-6, findings_bounds.move_bytes_ns);
    struct by_process by = subject_by_process(it->facts, it->subject);
    if (by.pinnable)
        pin_processes(it, by);
    if (read && it->subject->use != USE_WRITTEN)
        advise(it, ACTION_DUPLICATE, text(it, "%.0f%% of its accesses are writes: copies stay valid", it->writes),
               duplicate_code(it));
    if (move_ns <= findings_bounds.move_of_turn * turn_ns)
        advise(it, ACTION_MIGRATE, text(it, "move it when the turn changes: %s", move), migrate_code(it));
    if (!by.pinnable)
        pin_or_not(it);
    if (move_ns > findings_bounds.move_of_turn * turn_ns)
        against(it, ACTION_MIGRATE, text(it, "not migration: %s", move));
    if (it->finding->advice.count == 0)
        advise(
            it, ACTION_SPREAD,
            "give the work on it to the threads of one node, and other work to the other nodes: turns are too short to "
            "move it",
            text(it, "numa_run_on_node(%d);  /* in the threads that use %s; #include <numa.h>, -lnuma */",
                 home_number(it), it->name));
    if (!read || it->subject->use == USE_WRITTEN)
        not_duplicate(it);
    against(it, ACTION_INTERLEAVE,
            text(it, "not interleaving: one node uses it at a time (%.0f%% overlap), so its memory is not overloaded",
                 100 * it->subject->overlap));
}

static void on_concurrent(struct case_ *it)
{
    uint64_t bytes = subject_bytes(it->facts, it->subject, it->finding->is_site);
    struct by_process by = subject_by_process(it->facts, it->subject);
    bool copies = it->subject->use != USE_WRITTEN && it->writes <= 100 * findings_bounds.duplicate_writes;
    if (by.pinnable)
        pin_processes(it, by);
    if (copies)
        advise(it, ACTION_DUPLICATE,
               text(it, "%s: copies stay valid. A copy takes %s, %u nodes take %s",
                    it->subject->use == USE_READ_ONLY ? "nobody writes it after its initialisation"
                                                      : text(it, "only %.1f%% of its accesses are writes", it->writes),
                    bytes_text(it, bytes), it->nodes, bytes_text(it, bytes * it->nodes)),
               duplicate_code(it));
    if (by.pinnable)
        against(it, ACTION_INTERLEAVE,
                text(it, "not interleaving: %.0f%% of the accesses would still be remote",
                     100.0 * (it->nodes - 1) / it->nodes));
    else if (copies)
        advise(it, ACTION_INTERLEAVE, "where copies are too large: as many remote accesses, but spread over all nodes",
               interleave_code(it));
    else
        advise(it, ACTION_INTERLEAVE,
               text(it,
                    "%u nodes use it at the same time and write it: its pages can be near to one only, so share the "
                    "load out",
                    it->subject->using_nodes),
               interleave_code(it));
    if (!copies)
        not_duplicate(it);
    if (!by.pinnable)
        pin_or_not(it);
    against(it, ACTION_MIGRATE,
            text(it, "not migration: %u nodes use it in %.0f%% of its time slices at once", it->subject->using_nodes,
                 100 * it->subject->overlap));
}

static void on_mixed(struct case_ *it)
{
    advise(it, ACTION_SEPARATE_PAGES,
           text(it,
                "each is used by one thread only (%u of %u), but they share %lu pages: an arena for each thread keeps "
                "them apart",
                it->subject->private_instances, it->subject->instances, (unsigned long)it->subject->mixed_pages),
           text(it,
                "/* each thread takes its own from pages that it touches first: */\n"
                "static _Thread_local char *chunk, *end;\n"
                "if (end - chunk < (long)size) {\n"
                "    chunk = aligned_alloc(4096, 1 << 20);\n"
                "    end = chunk + (1 << 20);\n"
                "}\n"
                "%s = (void *)chunk;\n"
                "chunk += (size + 15) & ~15ul;\n"
                "/* or without a change: */ LD_PRELOAD=libjemalloc.so.2 %s",
                it->name, it->app));
    against(it, ACTION_MIGRATE,
            text(it, "not migration: %lu of %lu pages hold data of several nodes",
                 (unsigned long)it->subject->mixed_pages, (unsigned long)it->subject->pages));
    against(it, ACTION_INTERLEAVE,
            text(it, "not interleaving: %.0f%% of the accesses would be remote", 100.0 * (it->nodes - 1) / it->nodes));
    against(it, ACTION_DUPLICATE, "not duplication: each is used by one thread only");
}

static void on_false_sharing(struct case_ *it)
{
    advise(it, ACTION_PAD,
           text(it, "%u threads write different bytes of the same lines: with a line for each, none waits for another",
                it->subject->writers),
           text(it,
                "struct one { alignas(64) long value; };  /* <stdalign.h>; what one thread writes, on a line of its "
                "own */\n"
                "/* %s as an array of these; the array itself from aligned_alloc(64, size) */",
                it->name));
    against(it, ACTION_MIGRATE,
            "not migration, nor any other place for the page: the line goes from cache to cache wherever "
            "its memory lies");
}

/* The hottest findings on this node's memory, worst first: "block, grid". */
static const char *hottest(struct case_ *it, size_t *count)
{
    char names[200] = "";
    size_t used = 0;
    *count = 0;
    array_each (&it->findings->items, const struct finding, finding) {
        if (!finding->subject || finding->pattern == PATTERN_FALSE_SHARING ||
            finding->subject->main_home != it->finding->node || *count == 3)
            continue;
        int length = snprintf(names + used, sizeof names - used, "%s%.48s", *count ? ", " : "", finding->name);
        used += length > 0 && (size_t)length < sizeof names - used ? (size_t)length : 0;
        ++*count;
    }
    return text(it, "%s", names);
}

static void on_node(struct case_ *it)
{
    size_t count;
    const char *names = hottest(it, &count);
    if (count > 0)
        it->finding->evidence = text(it, "%s Its hottest: %s.", it->finding->evidence, names);
    advise(it, ACTION_INTERLEAVE,
           text(it, "%u nodes use the one memory: spread over all, each serves a part",
                nodes_taking_part(it->facts, (uint32_t)it->finding->node)),
           interleave_all(it));
    if (count > 1)
        advise(it, ACTION_SPREAD, text(it, "or each of these on another node: %s", names),
               "numa_alloc_onnode(size, node)  /* another node for each; #include <numa.h>, -lnuma */");
    against(it, ACTION_PIN_TOGETHER,
            text(it, "not pinning all threads to node %d: the other nodes' CPUs and memory would stay idle",
                 node_number(it->facts, it->finding->node)));
    if (count > 0)
        against(it, ACTION_MIGRATE,
                "not all of it: where a finding of its own says how an object is best placed, that "
                "comes first");
}

static bool is_fortran(const char *file)
{
    const char *dot = file ? strrchr(file, '.') : NULL;
    return dot && (dot[1] == 'f' || dot[1] == 'F');
}

void finding_advise(struct findings *findings, struct finding *finding)
{
    const struct facts *facts = findings->facts;
    const struct trace_session *session = flow_session(facts->flow);
    const char *command = session ? trace_session_get(session, "command") : NULL;
    struct case_ it = {.findings = findings,
                       .finding = finding,
                       .facts = facts,
                       .subject = finding->subject,
                       .name = finding->named ? finding->name : "data",
                       .app = command && *command && strlen(command) <= COMMAND_MAX ? command : "./app ...",
                       .nodes = facts->node_count,
                       .fortran = is_fortran(finding->file)};
    if (it.subject) {
        it.writes = 100 * part_of(it.subject->totals.writes, it.subject->totals.samples);
        it.is_static = subject_kind(facts, it.subject) == OBJECT_STATIC;
    }
    static void (*const on[PATTERNS])(struct case_ *) = {
        [PATTERN_REMOTE_AFTER_ALLOCATION] = on_after_allocation,
        [PATTERN_ALTERNATE_REMOTE] = on_alternate,
        [PATTERN_CONCURRENT_REMOTE] = on_concurrent,
        [PATTERN_SATURATED_NODE] = on_node,
        [PATTERN_FAR_INITIALISED] = on_far_initialised,
        [PATTERN_MIXED_PAGES] = on_mixed,
        [PATTERN_FALSE_SHARING] = on_false_sharing,
    };
    on[finding->pattern](&it);
}
