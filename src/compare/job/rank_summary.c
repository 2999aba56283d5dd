#include "compare/job/rank_summary.h"

#include "analysis/facts/accesses.h"
#include "base/map64.h"
#include "base/order.h"
#include "base/strtab.h"
#include "base/text.h"
#include "compare/profile_names.h"
#include "predict/first_line.h"

#include <math.h>
#include <string.h>

enum { MOST_FRAMES = 96, MOST_PARTS = 64, MOST_RANKS = 10000000 };

struct rank_burst { /* the one a thread is in */
    bool in_mpi;
    uint32_t count; /* accesses; those beyond MOST_PARTS are not looked at */
    uint32_t objects[MOST_PARTS];
};

struct rank_pass {
    struct rank_summary *summary;
    const struct flow *flow;
    struct profile *profile; /* only for names */
    struct profile_names *names;
    struct map64 stacks; /* (process, stack) -> 1: not in MPI, 2: in MPI */
    struct rank_burst *bursts;
    size_t threads;
    array_of(struct rank_object) objects; /* by the profile's entries */
};

/* MPI's own functions, in any language, and the libraries that MPI is made of, which also run threads of their own. */
static bool is_mpi(const struct flow_frame *frame)
{
    static const char *const functions[] = {"MPI_", "PMPI_", "mpi_", "pmpi_"};
    static const char *const modules[] = {"libmpi",    "libopen-pal", "libopen-rte", "libmpich", "libpmix", "libpmi",
                                          "libfabric", "libucp",      "libuct",      "libucs",   "libpsm",  "mca_"};
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (text_begins(frame->symbol.function, functions[i]))
            return true;
    for (size_t i = 0; i < sizeof modules / sizeof *modules; i++)
        if (text_begins(frame->module, modules[i]))
            return true;
    return false;
}

static bool in_mpi(struct rank_pass *pass, const struct one_access *access)
{
    if (access->thread >= pass->threads)
        return false;
    uint32_t process = flow_thread(pass->flow, access->thread)->process;
    uint64_t *known = map64_insert(&pass->stacks, (uint64_t)process << 32 | access->stack, NULL);
    if (!*known) {
        struct flow_frame frames[MOST_FRAMES];
        size_t count = flow_stack_places(pass->flow, process, access->stack, frames, MOST_FRAMES);
        *known = 1;
        for (size_t i = 0; i < count && *known == 1; i++)
            *known = is_mpi(&frames[i]) ? 2 : 1;
    }
    return *known == 2;
}

static struct rank_object *object_of(struct rank_pass *pass, uint32_t entry)
{
    while (pass->objects.count <= entry)
        array_push(&pass->objects, (struct rank_object){0});
    return &pass->objects.items[entry];
}

static void end_burst(struct rank_pass *pass, struct rank_burst *burst)
{
    if (!burst->count)
        return;
    uint32_t parts = burst->count < MOST_PARTS ? burst->count : MOST_PARTS;
    pass->summary->bursts++;
    pass->summary->mpi_bursts += burst->in_mpi;
    for (uint32_t i = 0; !burst->in_mpi && i < parts; i++)
        if (burst->objects[i] != FLOW_NONE)
            object_of(pass, burst->objects[i])->work += 1.0 / parts;
    burst->count = 0;
}

static void add_access(struct rank_pass *pass, const struct one_access *access)
{
    struct rank_burst *burst = &pass->bursts[access->thread < pass->threads ? access->thread : pass->threads];
    uint32_t entries[PROFILE_TABLES];
    if (access->flags & ACCESS_FIRST)
        end_burst(pass, burst);
    if (!burst->count)
        burst->in_mpi = in_mpi(pass, access);
    profile_names_of(pass->names, access, entries);
    uint32_t entry = entries[PROFILE_OBJECTS];
    if (burst->count < MOST_PARTS)
        burst->objects[burst->count] = entry;
    burst->count++;
    if (entry == FLOW_NONE)
        return;
    struct rank_object *object = object_of(pass, entry);
    object->samples++;
    object->remote += (access->flags & ACCESS_REMOTE) != 0;
    object->home_known += (access->flags & ACCESS_HOME_KNOWN) != 0;
}

ORDER_BY(by_work, struct rank_object, ORDER(b->work, a->work) ?: strcmp(a->name, b->name) ?: ORDER(a->line, b->line))

static const char *keep(struct rank_summary *summary, const char *text)
{
    return strtab_intern(summary->texts, text ? text : "");
}

static void take_objects(struct rank_pass *pass)
{
    struct rank_summary *summary = pass->summary;
    for (size_t i = 0; i < pass->objects.count; i++) {
        const struct profile_entry *entry = &pass->profile->tables[PROFILE_OBJECTS].items[i];
        struct rank_object *object = &pass->objects.items[i];
        object->name = keep(summary, entry->name);
        object->file = keep(summary, entry->file);
        object->line = entry->line;
        object->kind = entry->kind;
    }
    array_sort(&pass->objects, by_work);
    for (size_t i = 0; i < pass->objects.count && i < RANK_OBJECTS && pass->objects.items[i].work > 0; i++)
        array_push(&summary->objects, pass->objects.items[i]);
}

static int read_accesses(struct rank_summary *summary, const struct flow *flow, struct error *err)
{
    struct accesses *accesses = accesses_load(flow, err);
    if (!accesses)
        return -1;
    struct profile profile = {.texts = strtab_new()};
    struct rank_pass pass = {.summary = summary, .flow = flow, .profile = &profile, .threads = flow_thread_count(flow)};
    pass.names = profile_names_new(&profile, accesses);
    pass.bursts = mem_zalloc((pass.threads + 1) * sizeof *pass.bursts);
    array_each (&accesses->items, const struct one_access, access)
        add_access(&pass, access);
    for (size_t i = 0; i <= pass.threads; i++)
        end_burst(&pass, &pass.bursts[i]);
    take_objects(&pass);
    profile_names_free(pass.names);
    for (unsigned table = 0; table < PROFILE_TABLES; table++)
        array_free(&profile.tables[table]);
    strtab_free(profile.texts);
    map64_free(&pass.stacks);
    array_free(&pass.objects);
    free(pass.bursts);
    accesses_free(accesses);
    return 0;
}

static void take_session(struct rank_summary *summary, const struct flow *flow, const struct trace_session *ending)
{
    const struct trace_session *session = flow_session(flow);
    const char *rank = trace_session_get(session, "rank");
    uint64_t number = trace_session_number(session, "rank", MOST_RANKS),
             ranks = trace_session_number(session, "ranks", 0);
    summary->in_job = rank && number < MOST_RANKS; /* a trace is hostile: ranks that are missing are counted */
    summary->rank = summary->in_job ? (uint32_t)number : 0;
    summary->ranks = ranks <= MOST_RANKS ? (uint32_t)ranks : 0;
    summary->job = keep(summary, trace_session_get(session, "job"));
    summary->launcher = keep(summary, trace_session_get(session, "launcher"));
    summary->host = keep(summary, trace_session_get(session, "host"));
    summary->command = keep(summary, trace_session_get(session, "command"));
    summary->ended = ending != NULL;
    if (ending) {
        const char *status = trace_session_get(ending, "exit_status");
        summary->duration_s = (double)trace_session_number(ending, "duration_ns", 0) * 1e-9;
        summary->cpu_s = (double)trace_session_number(ending, "cpu_ns", 0) * 1e-9;
        summary->exit_status = status ? strtol(status, NULL, 10) : 0;
    }
}

static void take_totals(struct rank_summary *summary, const struct flow *flow)
{
    static const enum loss_cause lost[] = {LOSS_RING_FULL, LOSS_SAMPLE_FULL, LOSS_NO_RING,
                                           LOSS_PERF,      LOSS_STACK_TABLE, LOSS_DISK,
                                           LOSS_MEMORY,    LOSS_AUX_FULL,    LOSS_THREAD_ENDED};
    struct flow_totals totals = flow_totals(flow);
    summary->samples = totals.samples;
    summary->remote = totals.remote;
    summary->home_known = totals.home_known;
    summary->nodes = flow_topology(flow)->node_count;
    for (size_t i = 0; i < sizeof lost / sizeof *lost; i++)
        summary->lost += flow_losses(flow)[lost[i]];
}

static void take_findings(struct rank_summary *summary, struct findings *findings)
{
    summary->matters = findings->matters;
    summary->verdict = keep(summary, findings_first_line(findings));
    summary->grade = keep(summary, findings->grade);
    summary->bottleneck = keep(summary, findings->bottleneck);
    summary->timed = findings->facts->timed && findings->facts->bursts;
    summary->cost = findings->remote_time_share;
    summary->cost_low = findings->remote_time_low;
    summary->cost_high = findings->remote_time_high;
    array_each (&findings->items, const struct finding, finding) {
        if (summary->findings.count == RANK_FINDINGS) {
            summary->more_findings++;
            continue;
        }
        const char *advice = finding->advice.count ? action_text(finding->advice.items[0].action) : "";
        array_push(&summary->findings, (struct rank_finding){
                                           .pattern = finding->pattern,
                                           .name = keep(summary, finding->name),
                                           .file = keep(summary, finding->file),
                                           .evidence = keep(summary, finding->evidence),
                                           .advice = keep(summary, advice),
                                           .line = finding->line,
                                           .share_of_remote = finding->share_of_remote,
                                           .lost_time_share = finding->lost_time_share,
                                       });
    }
}

struct rank_summary *rank_summary_unread(const char *path, const char *error)
{
    struct rank_summary *summary = mem_zalloc(sizeof *summary);
    summary->texts = strtab_new();
    summary->path = keep(summary, path);
    summary->error = keep(summary, error);
    summary->damage = summary->job = summary->launcher = summary->host = summary->command = "";
    summary->verdict = summary->grade = summary->bottleneck = "";
    return summary;
}

struct rank_summary *rank_summary_make(const struct flow *flow, const char *path, const struct trace_session *ending,
                                       const char *damage, struct error *err)
{
    struct findings *findings = findings_of(flow, NULL, err);
    if (!findings)
        return NULL;
    struct rank_summary *summary = rank_summary_unread(path, "");
    summary->damage = keep(summary, damage);
    take_session(summary, flow, ending);
    take_totals(summary, flow);
    take_findings(summary, findings);
    findings_free(findings);
    if (read_accesses(summary, flow, err) < 0) {
        rank_summary_free(summary);
        return NULL;
    }
    return summary;
}

void rank_summary_free(struct rank_summary *summary)
{
    if (!summary)
        return;
    array_free(&summary->objects);
    array_free(&summary->findings);
    strtab_free(summary->texts);
    free(summary);
}

/* --- times from bursts --- */

static double part(const struct rank_summary *summary, double bursts)
{
    return summary->bursts ? bursts / (double)summary->bursts : 0;
}

/* Two bursts more of each kind, so that none of few is not taken for certain (Agresti and Coull). */
static double deviation(const struct rank_summary *summary, double bursts)
{
    double trials = (double)summary->bursts + 4, share = (bursts + 2) / trials;
    return summary->cpu_s * sqrt(share * (1 - share) / trials);
}

double rank_work(const struct rank_summary *summary)
{
    return summary->cpu_s * part(summary, (double)(summary->bursts - summary->mpi_bursts));
}

double rank_work_deviation(const struct rank_summary *summary)
{
    return deviation(summary, (double)(summary->bursts - summary->mpi_bursts));
}

double rank_object_work(const struct rank_summary *summary, const struct rank_object *object)
{
    return summary->cpu_s * part(summary, object->work);
}

double rank_object_deviation(const struct rank_summary *summary, const struct rank_object *object)
{
    return deviation(summary, object->work);
}
