/* analysis/findings/findings_advice.c - the change to make, why this one, and why not the others, each with its number. */
#include "analysis/findings/findings_advice.h"
#include "base/number.h"

#include <stdarg.h>
#include <string.h>

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
           it->writes <= 100 * thresholds.part;
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
              number_bytes(bytes), it->nodes, number_bytes(bytes * it->nodes));
}

void advise_against_duplicate(struct consult *it)
{
    if (!may_duplicate(it) && it->subject->proof == PROOF_WRITTEN)
        advise_against(it, ACTION_DUPLICATE, "not duplication: %lu of its pages were written after its initialisation",
                       (unsigned long)it->subject->written_pages);
    else if (!may_duplicate(it))
        advise_against(it, ACTION_DUPLICATE, "not duplication: %.0f%% of its accesses are writes", it->writes);
    else {
        it->finding->prove = code_prove(it);
        advise_against(
            it, ACTION_DUPLICATE,
            "not duplication before it is proved that no thread writes it: at most %.1f%% of its accesses are "
            "writes (95%% sure); this run would prove it: %s",
            writes_at_most(it), it->finding->prove);
    }
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
    advise_to(it, ACTION_PIN_TOGETHER, code_pin_processes(it),
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

/* Memory that a runtime maps for itself: whoever touches its pages first, no line of the program asks for it. */
static void advise_runtime(struct consult *it)
{
    if (strstr(it->finding->name, "Java heap"))
        advise_to(it, ACTION_RUNTIME_OPTION, code_java(it),
                  "the Java VM maps it; with this option what a thread allocates is on its node (ParallelGC; G1 since "
                  "JDK 14)");
    if (it->subject->using_nodes == 1)
        advise_pin_or_not(it);
    if (it->subject->using_nodes > 1 || !it->finding->advice.count)
        advise_to(it, ACTION_INTERLEAVE, code_runtime(it),
                  "%u threads on %u node%s use it; over all nodes, each serves a part", it->subject->using_threads,
                  it->subject->using_nodes, it->subject->using_nodes == 1 ? "" : "s");
    advise_against(it, ACTION_FIRST_TOUCH,
                   "not first touch: the runtime maps it and moves what is in it, no line of the program does");
}

static bool is_python(const struct facts *facts, uint32_t number)
{
    const struct flow_process *process = flow_process(facts->flow, number);
    const char *slash = process ? strrchr(process->exe, '/') : NULL;
    return slash && strncmp(slash + 1, "python", strlen("python")) == 0;
}

/* Of the thread that it was started with; false: it says nothing. */
static bool threads_by_start(const struct flow *flow, uint32_t thread, enum threads *threads)
{
    static const struct {
        const char *library, *function;
        enum threads threads;
    } runtimes[] = {{"libgomp", "gomp_thread_start", THREADS_OPENMP},
                    {"libomp", "__kmp_launch_worker", THREADS_OPENMP},
                    {"libiomp", "__kmp_launch_worker", THREADS_OPENMP},
                    {"libtbb", "tbb::", THREADS_TBB}};
    struct flow_frame start = flow_thread_start(flow, thread);
    for (size_t i = 0; i < sizeof runtimes / sizeof *runtimes; i++) {
        const char *library = runtimes[i].library, *function = runtimes[i].function;
        if (strncmp(start.module, library, strlen(library)) == 0 || strstr(start.symbol.function, function)) {
            *threads = runtimes[i].threads;
            return true;
        }
    }
    *threads = THREADS_OWN;
    return *start.module || *start.symbol.function;
}

/* Of the threads that use it most, but for the first one of a program, which nothing starts. */
static enum threads threads_of(const struct facts *facts, const struct facts_subject *subject)
{
    enum threads threads = THREADS_OWN;
    for (size_t i = 0; subject && i < subject->users.count; i++)
        if (threads_by_start(facts->flow, subject->users.items[i].thread, &threads))
            return threads;
    for (uint32_t i = 0; i < flow_thread_count(facts->flow); i++)
        if (threads_by_start(facts->flow, i, &threads))
            return threads;
    uint32_t process = subject ? subject->process : 0; /* what started its threads was not recorded */
    return flow_process_has(facts->flow, process, "libgomp") || flow_process_has(facts->flow, process, "libomp") ||
                   flow_process_has(facts->flow, process, "libiomp")
               ? THREADS_OPENMP
               : THREADS_OWN;
}

/* By their names where processes were sampled from outside (src/capture/process/proc.c). */
static bool is_runtime(const struct facts *facts, const struct facts_subject *subject)
{
    const struct flow_site *site = subject && subject->site != FLOW_NONE ? flow_site(facts->flow, subject->site) : NULL;
    const struct flow_object *object = subject ? flow_object(facts->flow, subject->object) : NULL;
    return site     ? site->runtime
           : object ? strcmp(object->name, "[Java heap]") == 0 || strcmp(object->name, "[Go heap]") == 0
                    : false;
}

/* Of a program whose lines are not known: C, unless a runtime of another language is in it. */
static enum language language_of_process(const struct facts *facts, uint32_t process)
{
    if (is_python(facts, process))
        return LANGUAGE_PYTHON;
    if (flow_process_has(facts->flow, process, "libjvm"))
        return LANGUAGE_OTHER;
    for (uint32_t i = 0; i < flow_site_count(facts->flow); i++) {
        const struct flow_site *site = flow_site(facts->flow, i);
        if (site->runtime && site->process == process && !strstr(site->label, "OpenMP"))
            return LANGUAGE_OTHER;
    }
    return LANGUAGE_C;
}

static enum language language_of(const struct facts *facts, const struct finding *finding)
{
    uint32_t process = finding->subject                ? finding->subject->process
                       : finding->process != FLOW_NONE ? finding->process
                                                       : 0;
    if (is_runtime(facts, finding->subject))
        return LANGUAGE_OTHER;
    if (is_python(facts, process))
        return LANGUAGE_PYTHON;
    const char *file = finding->file;
    static const struct {
        const char *ending;
        enum language language;
    } endings[] = {
        {"c", LANGUAGE_C},         {"h", LANGUAGE_C},         {"cc", LANGUAGE_CXX},      {"cpp", LANGUAGE_CXX},
        {"cxx", LANGUAGE_CXX},     {"C", LANGUAGE_CXX},       {"hh", LANGUAGE_CXX},      {"hpp", LANGUAGE_CXX},
        {"hxx", LANGUAGE_CXX},     {"tcc", LANGUAGE_CXX},     {"py", LANGUAGE_PYTHON},   {"f", LANGUAGE_FORTRAN},
        {"F", LANGUAGE_FORTRAN},   {"for", LANGUAGE_FORTRAN}, {"f90", LANGUAGE_FORTRAN}, {"F90", LANGUAGE_FORTRAN},
        {"f95", LANGUAGE_FORTRAN}, {"f03", LANGUAGE_FORTRAN}, {"f08", LANGUAGE_FORTRAN}};
    const char *dot = file ? strrchr(file, '.') : NULL;
    if (!file || !*file)
        return language_of_process(facts, process);
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
    if (finding->share_of_remote < thresholds.majority)
        return false;
    if (finding->subject)
        return subject_kind(findings->facts, finding->subject) != OBJECT_STACK &&
               subject_bytes(findings->facts, finding->subject, finding->is_site) >= thresholds.large_bytes;
    double others = 0;
    array_each (&findings->items, const struct finding, other) {
        bool cure = other->advice.count && other->advice.items[0].action == ACTION_INTERLEAVE;
        others += other->subject && !cure ? other->share_of_remote : 0;
    }
    array_each (&findings->undecided, const struct undecided, other)
        others += other->finding.share_of_remote; /* it may want another cure */
    return others < thresholds.majority;
}

void finding_write(struct judging *judging, const struct pattern_row *row, struct finding *finding)
{
    struct findings *findings = judging->findings;
    const struct facts *facts = findings->facts;
    struct consult it = {.judging = judging,
                         .findings = findings,
                         .finding = finding,
                         .facts = facts,
                         .subject = finding->subject,
                         .app = findings_app(findings),
                         .nodes = facts->node_count,
                         .whole = is_whole(findings, finding),
                         .threads = threads_of(facts, finding->subject),
                         .parts = finding->pattern == PATTERN_FAR_INITIALISED,
                         .is_runtime = is_runtime(facts, finding->subject),
                         .language = language_of(facts, finding)};
    it.is_static = it.subject && subject_kind(facts, it.subject) == OBJECT_STATIC;
    it.name = finding->named ? finding->variable : "data";
    it.is_container = finding->named && it.language == LANGUAGE_CXX && *finding->via;
    it.address = it.name;
    if (it.subject) {
        it.writes = 100 * subject_writes(it.subject);
        it.is_stack = subject_kind(facts, it.subject) == OBJECT_STACK;
        it.home = node_number(facts, it.subject->main_home);
        it.user = node_number(facts, it.subject->main_user_node);
        it.pin = it.home;
        if (it.is_static)
            it.address = findings_text(findings, "&%s", it.name);
    }
    if (it.is_container)
        it.address = findings_text(findings, "&%s[0]", it.name);
    finding->evidence = row->explain(&it);
    if (!finding->gain)
        finding->gain = gain_local(&it);
    bool of_lines = pattern_lines(finding->pattern) != LINES_NONE; /* wherever its pages are */
    (it.is_runtime && !of_lines ? advise_runtime : it.is_stack && row->on_stack ? row->on_stack : row->advise)(&it);
}
