/* analysis/findings/findings_advice.c - the change to make, why this one, and why not the others, each with its number. */
#include "analysis/findings/findings_advice.h"

#include <stdarg.h>
#include <string.h>

enum { COMMAND_MAX = 60 };

void advise_to(struct consult *it, enum action action, const char *code, const char *why, ...)
{
    va_list args;
    va_start(args, why);
    array_push(&it->finding->advice,
               (struct advice){.action = action, .why = findings_vtext(it->findings, why, args), .code = code});
    va_end(args);
}

void advise_against(struct consult *it, enum action action, const char *why, ...)
{
    va_list args;
    va_start(args, why);
    array_push(&it->finding->against,
               (struct advice){.action = action, .why = findings_vtext(it->findings, why, args), .code = ""});
    va_end(args);
}

static const char *bytes_text(struct consult *it, uint64_t bytes)
{
    return bytes >= 10 << 20 ? text(it, "%lu MiB", (unsigned long)(bytes >> 20))
                             : text(it, "%lu KiB", (unsigned long)((bytes + 1023) >> 10));
}

/* Part of the accesses that is remote when pages are interleaved over all nodes. */
double spread_part(const struct consult *it)
{
    return 100.0 * (it->nodes - 1) / it->nodes;
}

void advise_against_interleaving(struct consult *it)
{
    advise_against(it, ACTION_INTERLEAVE, "not interleaving: %.0f%% of the accesses would still be remote",
                   spread_part(it));
}

/* At most so much of its accesses writes it, 95% sure; in percent. */
static double writes_at_most(const struct consult *it)
{
    return 100 * claim_at_most(it->writes / 100, (double)it->subject->bursts);
}

bool may_duplicate(const struct consult *it)
{
    return it->subject->use != USE_WRITTEN && it->subject->proof != PROOF_WRITTEN &&
           it->writes <= 100 * findings_bounds.duplicate_writes;
}

/* Copies go stale at the first write: they are advised only where write protection has shown that there is none. */
bool is_proved(const struct consult *it)
{
    return it->subject->use == USE_READ_ONLY && it->subject->proof == PROOF_READ_ONLY;
}

void advise_duplicate(struct consult *it)
{
    uint64_t bytes = subject_bytes(it->facts, it->subject, it->finding->is_site);
    advise_to(it, ACTION_DUPLICATE, code_duplicate(it),
              "no page of it was written after its initialisation, as write protection shows; a copy takes %s, %u of "
              "them %s",
              bytes_text(it, bytes), it->nodes, bytes_text(it, bytes * it->nodes));
}

void advise_against_duplicate(struct consult *it)
{
    if (!may_duplicate(it) && it->subject->proof == PROOF_WRITTEN)
        advise_against(it, ACTION_DUPLICATE, "not duplication: %lu of its pages were written after its initialisation",
                       (unsigned long)it->subject->written_pages);
    else if (!may_duplicate(it))
        advise_against(it, ACTION_DUPLICATE, "not duplication: %.0f%% of its accesses are writes", it->writes);
    else
        advise_against(
            it, ACTION_DUPLICATE,
            "not duplication before it is proved that no thread writes it: at most %.1f%% of its accesses are "
            "writes (95%% sure); this run would prove it: %s",
            writes_at_most(it), code_prove(it));
}

/* All its threads on its home node: when they fit there. */
void advise_pin_or_not(struct consult *it)
{
    const struct topology *topology = flow_topology(it->facts->flow);
    uint32_t cpus = it->subject->main_home >= 0 ? topology->nodes[it->subject->main_home].cpu_count : 0;
    const char *why = text(it, "%u threads use it, node %d has %u CPU%s", it->subject->using_threads, it->home, cpus,
                           cpus == 1 ? "" : "s");
    if (it->subject->using_threads <= cpus)
        advise_to(it, ACTION_PIN_TOGETHER, code_pin(it), "%s; the rest of the machine stays idle", why);
    else
        advise_against(it, ACTION_PIN_TOGETHER, "not pinning them together: %s", why);
}

/* The pieces of several processes, each used by the threads of one: these belong together. */
void advise_pin_processes(struct consult *it, struct by_process by)
{
    advise_to(it, ACTION_PIN_TOGETHER,
              "/* in each process, before it makes its threads;\n"
              "   `number` is different in each process; <numa.h>, -lnuma */\n"
              "numa_run_on_node(number % (numa_max_node() + 1));",
              "%u processes have their own, and only the threads of one (%u at most) share it; they fit on a node (%u "
              "CPUs), and then all of it is local",
              by.processes, by.most_threads, by.cpus);
}

/* Threads that use another's locals: a loop's bounds and pointers that a parallel region takes by reference. */
void advise_own_copy(struct consult *it)
{
    advise_to(it, ACTION_OWN_COPY, code_own_copy(it),
              "%u threads on %u nodes use variables of one thread's stack, which is on that thread's node",
              it->subject->using_threads, it->subject->using_nodes);
    advise_against(it, ACTION_INTERLEAVE, "not interleaving: the thread's own variables would be spread with them");
    advise_against(it, ACTION_MIGRATE, "not migration: a stack belongs on the node of its thread");
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

void finding_write(struct judging *judging, const struct pattern_row *row, struct finding *finding)
{
    struct findings *findings = judging->findings;
    const struct facts *facts = findings->facts;
    const struct trace_session *session = flow_session(facts->flow);
    const char *command = session ? trace_session_get(session, "command") : NULL;
    struct consult it = {.judging = judging,
                         .findings = findings,
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
        it.is_stack = subject_kind(facts, it.subject) == OBJECT_STACK;
        it.home = node_number(facts, it.subject->main_home);
        it.user = node_number(facts, it.subject->main_user_node);
        if (it.is_static)
            it.address = findings_text(findings, "&%s", it.name);
    }
    if (it.is_container)
        it.address = findings_text(findings, "&%s[0]", it.name);
    finding->evidence = row->explain(&it);
    if (!finding->gain)
        finding->gain = gain_local(&it);
    (it.is_stack && row->on_stack ? row->on_stack : row->advise)(&it);
}
