/* compare/profile.c - one pass over a flow's accesses, burst by burst. */
#include "compare/profile.h"

#include "analysis/facts/accesses.h"
#include "base/map64.h"
#include "base/strtab.h"
#include "compare/profile_names.h"
#include "predict/first_line.h"

#include <stdio.h>
#include <string.h>

struct part { /* what one burst has of one entry, or (table PROFILE_TABLES) of one node's memory */
    uint32_t table, entry;
    double samples, remote, known, latency, timed;
};

struct profile_burst { /* the one a thread is in */
    array_of(struct part) parts;
    struct part all; /* of everything */
    double near_latency, near_timed, far_latency, far_timed;
};

struct pass {
    struct profile *profile;
    const struct flow *flow;
    struct profile_names *names;
    struct map64 users;           /* an object's and a function's entry -> samples */
    struct profile_burst *bursts; /* by thread; the last one is of accesses without */
    size_t burst_count;
};

static void end_burst(struct pass *pass, struct profile_burst *burst)
{
    struct profile *profile = pass->profile;
    if (burst->all.samples == 0)
        return;
    profile->bursts++;
    ratio_add(&profile->all, burst->all.samples, burst->all.samples);
    ratio_add(&profile->far, burst->all.remote, burst->all.known);
    ratio_add(&profile->latency, burst->all.latency, burst->all.timed);
    ratio_add(&profile->near_latency, burst->near_latency, burst->near_timed);
    ratio_add(&profile->far_latency, burst->far_latency, burst->far_timed);
    array_each (&burst->parts, const struct part, part) {
        if (part->table == PROFILE_TABLES) {
            ratio_add(&profile->homes[part->entry], part->samples, burst->all.known);
            continue;
        }
        struct profile_entry *entry = &profile->tables[part->table].items[part->entry];
        ratio_add(&entry->share, part->samples, burst->all.samples);
        ratio_add(&entry->far, part->remote, part->known);
        ratio_add(&entry->of_all, part->remote, burst->all.known);
        ratio_add(&entry->latency, part->latency, part->timed);
    }
    burst->parts.count = 0;
    burst->all = (struct part){0};
    burst->near_latency = burst->near_timed = burst->far_latency = burst->far_timed = 0;
}

static void part_add(struct part *part, const struct one_access *access, double latency)
{
    part->samples++;
    part->remote += (access->flags & ACCESS_REMOTE) != 0;
    part->known += (access->flags & ACCESS_HOME_KNOWN) != 0;
    if (access->flags & ACCESS_TIMED) {
        part->latency += latency;
        part->timed++;
    }
}

static struct part *share_of(struct profile_burst *burst, uint32_t table, uint32_t entry)
{
    array_each (&burst->parts, struct part, part)
        if (part->table == table && part->entry == entry)
            return part;
    array_push(&burst->parts, (struct part){.table = table, .entry = entry});
    return &burst->parts.items[burst->parts.count - 1];
}

static void count_entry(struct pass *pass, uint32_t table, uint32_t index, const struct one_access *access)
{
    struct profile_entry *entry = &pass->profile->tables[table].items[index];
    entry->samples++;
    entry->writes += (access->flags & ACCESS_WRITE) != 0;
    entry->remote += (access->flags & ACCESS_REMOTE) != 0;
    entry->home_known += (access->flags & ACCESS_HOME_KNOWN) != 0;
    if (access->flags & ACCESS_TIMED) {
        entry->latency_mean += access->latency; /* a sum until the end */
        entry->latency_count++;
    }
}

/* Sections, and variables of libraries: which thread touched such a page first is chance, and one page may have much traffic. */
static bool is_loaded(const struct profile *profile, uint32_t object)
{
    const struct profile_entry *entry = object != FLOW_NONE ? &profile->tables[PROFILE_OBJECTS].items[object] : NULL;
    return entry && (entry->kind == OBJECT_SECTION || (entry->kind == OBJECT_STATIC && strstr(entry->module, ".so")));
}

static void add_access(struct pass *pass, const struct one_access *access)
{
    struct profile_burst *burst =
        &pass->bursts[access->thread < pass->burst_count ? access->thread : pass->burst_count];
    double latency = access->latency < PROFILE_LONGEST ? access->latency : PROFILE_LONGEST;
    if (access->flags & ACCESS_FIRST)
        end_burst(pass, burst);
    part_add(&burst->all, access, latency);
    if ((access->flags & ACCESS_TIMED) && (access->flags & ACCESS_HOME_KNOWN)) {
        bool far = access->flags & ACCESS_REMOTE;
        *(far ? &burst->far_latency : &burst->near_latency) += latency;
        *(far ? &burst->far_timed : &burst->near_timed) += 1;
    }
    if (access->flags & ACCESS_TIMED) {
        pass->profile->histogram.counts[latency_bucket(access->latency)]++;
        pass->profile->histogram.number++;
    }
    uint32_t entries[PROFILE_TABLES], nodes = pass->profile->nodes;
    profile_names_of(pass->names, access, entries);
    if (access->home >= 0 && (uint32_t)access->home < nodes) {
        share_of(burst, PROFILE_TABLES, (uint32_t)access->home)->samples++;
        if (!is_loaded(pass->profile, entries[PROFILE_OBJECTS]))
            share_of(burst, PROFILE_TABLES, nodes + (uint32_t)access->home)->samples++;
    }
    if (entries[PROFILE_OBJECTS] != FLOW_NONE && entries[PROFILE_FUNCTIONS] != FLOW_NONE)
        ++*map64_insert(&pass->users, (uint64_t)entries[PROFILE_OBJECTS] << 32 | entries[PROFILE_FUNCTIONS], NULL);
    for (uint32_t table = 0; table < PROFILE_TABLES; table++) {
        if (entries[table] == FLOW_NONE)
            continue;
        count_entry(pass, table, entries[table], access);
        part_add(share_of(burst, table, entries[table]), access, latency);
    }
}

static void finish_entries(struct profile *profile)
{
    for (uint32_t node = 0; node < 2 * profile->nodes; node++) {
        profile->homes[node].bursts = profile->far.bursts;
        profile->homes[node].n = profile->far.n;
        profile->homes[node].nn = profile->far.nn;
    }
    for (unsigned table = 0; table < PROFILE_TABLES; table++) {
        array_each (&profile->tables[table], struct profile_entry, entry) {
            /* Bursts without a sample of it count too: they are looks that did not find it. */
            entry->share.bursts = profile->all.bursts;
            entry->share.n = profile->all.n;
            entry->share.nn = profile->all.nn;
            entry->of_all.bursts = profile->far.bursts;
            entry->of_all.n = profile->far.n;
            entry->of_all.nn = profile->far.nn;
            if (entry->latency_count)
                entry->latency_mean /= (double)entry->latency_count;
        }
    }
}

/* A function without what the compiler adds for a region of OpenMP, whose number changes with the regions before it. */
static uint32_t user_name(struct profile *profile, uint32_t function)
{
    static const char *const ends[] = {"._omp_fn", ".omp_outlined", " [clone"};
    char name[512];
    snprintf(name, sizeof name, "%s", profile->tables[PROFILE_FUNCTIONS].items[function].name);
    for (unsigned i = 0; i < sizeof ends / sizeof *ends; i++) {
        char *end = strstr(name, ends[i]);
        if (end)
            *end = '\0';
    }
    return strtab_add(profile->texts, name);
}

static void take_users(struct profile *profile, const struct map64 *users)
{
    map64_each (users, i) {
        struct profile_entry *entry = &profile->tables[PROFILE_OBJECTS].items[users->keys[i] >> 32];
        struct profile_user user = {.function = user_name(profile, (uint32_t)users->keys[i]),
                                    .share = (double)users->values[i] / (double)entry->samples};
        unsigned known = 0;
        while (known < PROFILE_USERS && entry->users[known].share > 0 && entry->users[known].function != user.function)
            known++;
        if (known < PROFILE_USERS && entry->users[known].share > 0) {
            entry->users[known].share += user.share;
            continue;
        }
        for (unsigned at = 0; at < PROFILE_USERS; at++) { /* most first */
            if (user.share <= entry->users[at].share)
                continue;
            struct profile_user less = entry->users[at];
            entry->users[at] = user;
            user = less;
        }
    }
}

static void take_findings(struct profile *profile, const struct findings *findings, const struct profile_names *names)
{
    profile->numa_bound = findings->numa_bound;
    profile->verdict = strtab_intern(profile->texts, findings->verdict);
    array_each (&findings->items, const struct finding, finding) {
        uint32_t entry = finding->subject ? profile_names_object(names, finding->subject->object) : FLOW_NONE;
        array_push(&profile->findings,
                   (struct profile_finding){
                       .pattern = finding->pattern,
                       .name = strtab_intern(profile->texts, finding->name ? finding->name : ""),
                       .file = strtab_intern(profile->texts, finding->file ? finding->file : ""),
                       .line = finding->line,
                       .entry = entry,
                       .node = finding->node,
                       .remote = finding->remote_samples,
                       .share_of_remote = finding->share_of_remote,
                       .lost_time_share = finding->lost_time_share,
                       .evidence = strtab_intern(profile->texts, finding->evidence ? finding->evidence : ""),
                   });
    }
}

static void take_shared_lines(struct profile *profile, const struct facts *facts, const struct profile_names *names)
{
    array_each (&facts->objects, const struct facts_subject, subject) {
        uint32_t index = profile_names_object(names, (uint32_t)(subject - facts->objects.items));
        if (index == FLOW_NONE)
            continue;
        struct profile_entry *entry = &profile->tables[PROFILE_OBJECTS].items[index];
        entry->shared[0] += subject->false_sharing;
        entry->shared[1] += subject->true_sharing;
    }
}

static void describe(struct profile *profile, const struct flow *flow, const char *path,
                     const struct trace_session *ending)
{
    const struct trace_session *session = flow_session(flow);
    const char *command = session ? trace_session_get(session, "command") : NULL;
    const char *placement = session ? trace_session_get(session, "placement") : NULL;
    profile->path = strtab_intern(profile->texts, path);
    profile->command = strtab_intern(profile->texts, command ? command : "");
    profile->placement = strtab_intern(profile->texts, placement ? placement : "");
    profile->unit = strtab_intern(profile->texts, accesses_unit(flow));
    profile->nodes = flow_topology(flow)->node_count;
    profile->homes = mem_zalloc((2 * profile->nodes + 1ul) * sizeof *profile->homes);
    profile->node_numbers = mem_zalloc((profile->nodes + 1ul) * sizeof *profile->node_numbers);
    for (uint32_t node = 0; node < profile->nodes; node++)
        profile->node_numbers[node] = flow_topology(flow)->nodes[node].os_index;
    profile->simulated = flow_topology(flow)->simulated;
    profile->totals = flow_totals(flow);
    profile->lost = flow_losses(flow)[LOSS_SAMPLE_FULL];
    if (ending) {
        profile->duration_s = (double)trace_session_number(ending, "duration_ns", 0) * 1e-9;
        profile->cpu_s = (double)trace_session_number(ending, "cpu_ns", 0) * 1e-9;
    }
}

struct profile *profile_make_judged(const struct flow *flow, const struct findings *findings, const char *path,
                                    const struct trace_session *ending, struct error *err)
{
    struct accesses *accesses = accesses_load(flow, err);
    if (!accesses)
        return NULL;
    struct profile *profile = mem_zalloc(sizeof *profile);
    profile->texts = strtab_new();
    describe(profile, flow, path, ending);
    struct pass pass = {.profile = profile,
                        .flow = flow,
                        .names = profile_names_new(profile, accesses),
                        .burst_count = flow_thread_count(flow)};
    pass.bursts = mem_zalloc((pass.burst_count + 1) * sizeof *pass.bursts);
    array_each (&accesses->items, const struct one_access, access)
        add_access(&pass, access);
    for (size_t i = 0; i <= pass.burst_count; i++) {
        end_burst(&pass, &pass.bursts[i]);
        array_free(&pass.bursts[i].parts);
    }
    free(pass.bursts);
    finish_entries(profile);
    take_users(profile, &pass.users);
    map64_free(&pass.users);
    take_findings(profile, findings, pass.names);
    take_shared_lines(profile, findings->facts, pass.names);
    profile_names_number(pass.names);
    profile_names_free(pass.names);
    accesses_free(accesses);
    return profile;
}

struct profile *profile_make(const struct flow *flow, const char *path, const struct trace_session *ending,
                             struct error *err)
{
    struct findings *findings = findings_of(flow, NULL, err);
    struct profile *profile = findings ? profile_make_judged(flow, findings, path, ending, err) : NULL;
    findings_free(findings);
    return profile;
}

void profile_free(struct profile *profile)
{
    if (!profile)
        return;
    for (unsigned table = 0; table < PROFILE_TABLES; table++)
        array_free(&profile->tables[table]);
    array_free(&profile->findings);
    free(profile->homes);
    free(profile->node_numbers);
    strtab_free(profile->texts);
    free(profile);
}

const char *profile_loose(const struct profile *profile, const struct profile_entry *entry)
{
    return strtab_text(profile->texts, entry->loose);
}

const char *profile_table_name(enum profile_table table)
{
    static const char *const names[PROFILE_TABLES] = {"objects", "sites", "functions", "threads"};
    return table < PROFILE_TABLES ? names[table] : "?";
}
