/* analysis/memory_map/phase_names.c - what happens in a phase, in one line: "main writes a, b"; "2 workers read a, b and write c". */
#include "analysis/names/object_name.h"
#include "analysis/memory_map/run_phases.h"
#include "analysis/thresholds.h"
#include "base/map64.h"
#include "base/order.h"

#include <stdio.h>
#include <string.h>

enum { MOST_USES = 12, MOST_ROLES = 3, MOST_THINGS = 4 };

struct role_use { /* of a role's accesses to a thing in one phase */
    uint32_t role, thing, thread;
    uint64_t thread_accesses; /* of the thread with the most in one cell */
    uint64_t reads, writes, remote, accesses;
};

struct reporting {
    const struct phase_counts *counts;
    struct object_names *names;
    array_of(struct role_use) tallies; /* of the phase at hand, most accesses first */
    array_of(uint32_t) threads;        /* those that take part */
};

ORDER_BY(by_accesses, struct role_use,
         ORDER(b->accesses, a->accesses) ?: ORDER(a->role, b->role) ?: ORDER(a->thing, b->thing))

static void gather(struct reporting *reporting, struct phase *phase)
{
    const struct phase_counts *counts = reporting->counts;
    const struct memory_map *map = counts->map;
    struct map64 tally_of = {0}, seen = {0};
    bool is_new;
    reporting->tallies.count = reporting->threads.count = 0;
    phase->accesses = phase->remote = 0;
    uint64_t first = (phase->start - map->start) / map->slice_ns, behind = (phase->end - map->start) / map->slice_ns;
    array_each (&map->cells, const struct memory_cell, cell) {
        if (cell->slice < first || cell->slice >= behind)
            continue;
        uint32_t role = counts->role_of[cell->thread], thing = counts->thing_of[cell->leaf];
        uint64_t *place = map64_insert(&tally_of, (uint64_t)role << 32 | thing, &is_new);
        if (is_new) {
            *place = reporting->tallies.count;
            array_push(&reporting->tallies, (struct role_use){.role = role, .thing = thing, .thread = cell->thread});
        }
        struct role_use *tally = &reporting->tallies.items[*place];
        tally->reads += cell->reads;
        tally->writes += cell->writes;
        tally->remote += cell->remote;
        tally->accesses += cell->accesses;
        if (cell->accesses > tally->thread_accesses) {
            tally->thread_accesses = cell->accesses;
            tally->thread = cell->thread;
        }
        phase->accesses += cell->accesses;
        phase->remote += cell->remote;
        map64_insert(&seen, cell->thread, &is_new);
        if (is_new)
            array_push(&reporting->threads, cell->thread);
    }
    array_sort(&reporting->tallies, by_accesses);
    phase->threads = (uint32_t)reporting->threads.count;
    map64_free(&tally_of);
    map64_free(&seen);
}

/* "main", "worker", "3 workers", "2 threads". */
static void put_role(const struct reporting *reporting, FILE *out, uint32_t role, bool *several)
{
    const struct phase_counts *counts = reporting->counts;
    const struct flow *flow = counts->map->flow;
    const struct flow_thread *thread = flow_thread(flow, counts->roles.items[role].thread);
    const struct flow_process *process = flow_process(flow, thread->process);
    const char *slash = process && process->exe ? strrchr(process->exe, '/') : NULL;
    const char *program = slash ? slash + 1 : "";
    size_t length = strlen(thread->name), count = 0;
    array_each (&reporting->threads, const uint32_t, one)
        count += counts->role_of[*one] == role;
    *several = count > 1;
    while (count > 1 && length && strchr("0123456789-_ ", thread->name[length - 1]))
        length--;
    /* A thread that was not named has its program's name, cut to 15 letters. */
    bool named = length && strncmp(thread->name, program, 15) != 0;
    if (counts->roles.items[role].main)
        fputs("main", out);
    else if (count > 1)
        fprintf(out, "%zu %.*s%s", count, named ? (int)length : 6, named ? thread->name : "thread",
                named && thread->name[length - 1] == 's' ? "" : "s");
    else if (named)
        fprintf(out, "%s", thread->name);
    else
        fprintf(out, "thread %u", thread->tid);
    if (flow_process_count(flow) > 1)
        fprintf(out, " of %u", thread->pid);
}

static const char *thing_name(const struct reporting *reporting, uint32_t thing)
{
    const struct phase_thing *about = &reporting->counts->things.items[thing];
    const char *name = about->stack ? "stacks" : object_name(reporting->names, about->object);
    return *name ? name : "memory of no known object";
}

struct said {
    uint32_t thing, object;
};

ORDER_BY(by_start, struct said, ORDER(a->object, b->object))

static void put_said(const struct reporting *reporting, FILE *out, struct said *things, unsigned count)
{
    qsort(things, count, sizeof *things, by_start);
    for (unsigned i = 0; i < count; i++) {
        const char *name = thing_name(reporting, things[i].thing);
        bool said = false;
        for (unsigned k = 0; k < i && !said; k++)
            said = strcmp(thing_name(reporting, things[k].thing), name) == 0;
        if (!said)
            fprintf(out, "%s%s", i ? ", " : "", name);
    }
}

/* The things that a role mostly reads, or writes, in order of allocation; how many. */
static unsigned put_things(const struct reporting *reporting, FILE *out, uint32_t role, uint64_t all, bool writes)
{
    struct said things[MOST_THINGS] = {0};
    unsigned count = 0, unnamed = 0;
    array_each (&reporting->tallies, const struct role_use, tally) {
        uint64_t some = writes ? tally->writes : tally->reads;
        if (tally->role != role || (double)some < thresholds.worth_saying * (double)all ||
            (double)some < thresholds.part * (double)tally->accesses)
            continue;
        if (reporting->counts->things.items[tally->thing].stack &&
            (double)tally->accesses < thresholds.majority * (double)all)
            continue;
        if (count < MOST_THINGS)
            things[count++] = (struct said){tally->thing, reporting->counts->things.items[tally->thing].object};
        else
            unnamed++;
    }
    put_said(reporting, out, things, count);
    if (unnamed)
        fprintf(out, " and %u more", unnamed);
    return count;
}

static void put_deeds(const struct reporting *reporting, FILE *out, uint32_t role, uint64_t all)
{
    char *read = NULL, *written = NULL;
    size_t size;
    bool several;
    FILE *reads = mem_stream(&read, &size);
    unsigned read_count = put_things(reporting, reads, role, all, false);
    mem_stream_end(reads, &read);
    FILE *writes = mem_stream(&written, &size);
    unsigned write_count = put_things(reporting, writes, role, all, true);
    mem_stream_end(writes, &written);
    put_role(reporting, out, role, &several);
    bool same = read_count && strcmp(read, written) == 0;
    if (same)
        fprintf(out, several ? " read and write %s" : " reads and writes %s", read);
    else if (read_count)
        fprintf(out, several ? " read %s" : " reads %s", read);
    if (!same && write_count)
        fprintf(out, several ? "%s write %s" : "%s writes %s", read_count ? " and" : "", written);
    if (read_count + write_count == 0)
        fprintf(out, several ? " use many things" : " uses many things");
    free(read);
    free(written);
}

/* What the role with the most page faults touched first, where these show more than the samples: a role with very
 * few samples has more pages than accesses. False when it is not so. */
static bool put_touched(const struct reporting *reporting, FILE *out, const struct phase *phase,
                        const uint64_t *of_role)
{
    const struct phase_counts *counts = reporting->counts;
    struct phase_touches touches = {0};
    struct said things[MOST_THINGS];
    uint64_t *pages = mem_zalloc((counts->roles.count + 1) * sizeof *pages);
    uint32_t role = 0;
    unsigned count = 0;
    bool several;
    phase_touches_find(counts, phase->start, phase->end, &touches);
    array_each (&touches, const struct phase_touch, touch)
        pages[touch->role] += touch->pages;
    for (uint32_t i = 1; i < counts->roles.count; i++)
        role = pages[i] > pages[role] ? i : role;
    array_each (&touches, const struct phase_touch, touch) {
        bool worth = touch->role == role && (double)touch->pages >= thresholds.worth_saying * (double)pages[role];
        if (worth && count < MOST_THINGS && pages[role] > phase->accesses && of_role[role] == phase->accesses)
            things[count++] = (struct said){touch->thing, counts->things.items[touch->thing].object};
    }
    if (count) {
        put_role(reporting, out, role, &several);
        fputs(several ? " are first to touch " : " is first to touch ", out);
        put_said(reporting, out, things, count);
    }
    free(pages);
    array_free(&touches);
    return count > 0;
}

/* What each of the roles with the most accesses does; false when there is none. */
static bool put_done(const struct reporting *reporting, FILE *out, const struct phase *phase, uint64_t *of_role)
{
    for (unsigned roles = 0;; roles++) {
        uint32_t most = 0;
        for (uint32_t role = 1; role < reporting->counts->roles.count; role++)
            most = of_role[role] > of_role[most] ? role : most;
        if (of_role[most] == 0 || (roles && (double)of_role[most] < thresholds.worth_saying * (double)phase->accesses))
            return roles > 0;
        fputs(roles == MOST_ROLES ? "; and others" : roles ? "; " : "", out);
        if (roles == MOST_ROLES)
            return true;
        put_deeds(reporting, out, most, of_role[most]);
        of_role[most] = 0;
    }
}

static char *name_of(const struct reporting *reporting, const struct phase *phase)
{
    char *text = NULL;
    size_t size;
    FILE *out = mem_stream(&text, &size);
    uint64_t *of_role = mem_zalloc((reporting->counts->roles.count + 1) * sizeof *of_role);
    array_each (&reporting->tallies, const struct role_use, tally)
        of_role[tally->role] += tally->accesses;
    if (!put_touched(reporting, out, phase, of_role) && !put_done(reporting, out, phase, of_role))
        fputs("nothing sampled", out);
    free(of_role);
    mem_stream_end(out, &text);
    return text;
}

void phases_name(struct phases *phases, const struct phase_counts *counts)
{
    struct reporting reporting = {.counts = counts, .names = object_names_new(counts->map->flow)};
    array_each (&phases->items, struct phase, phase) {
        gather(&reporting, phase);
        free(phase->name);
        phase->name = name_of(&reporting, phase);
        phase->uses.count = 0;
        array_each (&reporting.tallies, const struct role_use, tally) {
            if (phase->uses.count == MOST_USES)
                break;
            array_push(&phase->uses, (struct phase_use){.object = counts->things.items[tally->thing].object,
                                                        .thread = tally->thread,
                                                        .reads = tally->reads,
                                                        .writes = tally->writes,
                                                        .remote = tally->remote,
                                                        .accesses = tally->accesses});
        }
    }
    array_free(&reporting.tallies);
    array_free(&reporting.threads);
    object_names_free(reporting.names);
}
