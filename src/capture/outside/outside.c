#include "capture/outside/outside.h"

#include "base/clock.h"
#include "base/mem.h"
#include "capture/outside/outside_burst.h"
#include "capture/outside/thread_stop.h"
#include "capture/process/find_processes.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#define SCAN_PART 0.25 /* of the budget, for looks for threads: of a thousand they take some ms */
#define DEBT_NS   1e9  /* what was spent too much is saved within such a time; more than that is not saved ahead */

#define BEHIND_SLOWER                                                                                                  \
    1.25 /* where threads are to have more ticks than there can be: else those that run most had too few */
#define ALLOWED_KEPT 0.9 /* from one look to the next, where less is allowed */

enum {
    PRIORITY = -15,
    SCAN_MOST_NS = 1000000000, /* between looks for threads, at most */
    STOP_WAIT_NS = 300000,     /* a thread that runs stops within that; one that waits for a CPU later */
    HELD_NS = 5000000,         /* between drains while nobody is asked; a stop wakes the loop */
    ASKED_MOST = 32,           /* threads that have been asked to stop, at a time */
    CHILDREN_EVERY = 10,       /* looks for threads, one for children */
    SLOWEST = 2000,            /* times as rare as asked for, ticks come at least */
    RULES_SHARE = 8,           /* of the recorder's memory, for call frame information */
};

struct outside *outside_new(const struct capture_options *options)
{
    struct outside *outside = mem_zalloc(sizeof *outside);
    outside->options = options;
    outside->slow = 1;
    outside->allowed = fmax(options->budget_least_ppm, options->budget_ppm) / 1e6;
    outside->scan_gap = OUTSIDE_SCAN_NS;
    outside->random = clock_now_ns() | 1;
    outside->rule_files = rule_files_new(options->memory / RULES_SHARE);
    return outside;
}

static int open_outside(void *context, struct error *err)
{
    struct outside *outside = context;
    sigset_t child; /* a stop wakes whoever waits for one */
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child, NULL);
    setpriority(PRIO_PROCESS, 0, PRIORITY); /* threads wait for it: where that is refused, somewhat longer */
    const struct capture_options *options = outside->options;
    int code = options->pid ? outside_follow(outside, options->pid, false, err) : 0;
    for (unsigned i = 0; code == 0 && i < sizeof options->pids / sizeof *options->pids && options->pids[i]; i++)
        code = outside_follow(outside, options->pids[i], false, err);
    if (process_query_given(&options->query))
        processes_each(&options->query, outside_follow_found, outside);
    return code;
}

void outside_connect(struct outside *outside, struct sink *sink, struct running *running,
                     const struct source_listener *listener)
{
    outside->sink = sink;
    outside->running = running;
    outside->listener = listener;
}

static uint64_t recorder_cpu_ns(void)
{
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
}

static uint64_t own_cpu_ns(const struct outside *outside)
{
    uint64_t sum = recorder_cpu_ns() + outside->ended_ns;
    array_each (&outside->processes, struct outside_process *, process)
        if ((*process)->executor)
            sum += executor_cpu_ns((*process)->executor);
    return sum;
}

/* What was spent since the last look, and before, against what may be: slower at once, faster step by step. */
static void keep_budget(struct outside *outside, uint64_t elapsed)
{
    uint64_t spent = own_cpu_ns(outside) + outside->totals.stop_ns;
    double more = (double)(spent - outside->spent_before);
    double may = (double)(outside->totals.cpu_ns - outside->cpu_before) * outside->options->budget_ppm / 1e6;
    double minimum = (double)elapsed * outside->options->budget_least_ppm / 1e6;
    may = may < minimum ? minimum : may;
    if (outside->spent_before && may > 0) {
        double most = elapsed > 4 * OUTSIDE_SCAN_NS ? 8 : 2; /* looks may be rare */
        double saved = -DEBT_NS * may / (double)elapsed, back = outside->debt_ns * (double)elapsed / DEBT_NS;
        double ratio = (more + back) / may;
        outside->debt_ns = outside->debt_ns + more - may < saved ? saved : outside->debt_ns + more - may;
        outside->allowed = fmax(may / (double)elapsed, ALLOWED_KEPT * outside->allowed);
        outside->totals.cost_ns += spent - outside->spent_before;
        double slower = ratio > most ? most : ratio > 1 ? ratio : ratio < 0.8 && !outside->behind ? 0.9 : 1;
        outside->slow *= outside->too_quick ? fmax(slower, BEHIND_SLOWER) : slower;
        outside->behind = outside->too_quick = false;
        outside->slow = outside->slow < 1 ? 1 : outside->slow > SLOWEST ? SLOWEST : outside->slow;
    }
    outside->spent_before = spent;
    outside->cpu_before = outside->totals.cpu_ns;
}

static void scan_all(struct outside *outside, uint64_t now)
{
    array_each (&outside->processes, struct outside_process *, process)
        (*process)->heap_due |= (*process)->active && now >= (*process)->heap_next;
    uint64_t began = recorder_cpu_ns(), gap = outside->scanned ? now - outside->scanned : 0;
    outside->scan_gap = gap > OUTSIDE_SCAN_NS ? gap : OUTSIDE_SCAN_NS;
    array_each (&outside->processes, struct outside_process *, process)
        if (!(*process)->ended)
            outside_scan_process(outside, *process, now);
    outside_forget_ended(outside);
    for (size_t i = outside->processes.count; i > 0 && outside->options->follow && outside->scans % CHILDREN_EVERY == 0;
         i--)
        if (!outside->processes.items[i - 1]->ended)
            outside_follow_children(outside, i - 1);
    if (outside->options->follow && outside->scans % CHILDREN_EVERY == 0 &&
        process_query_given(&outside->options->query))
        processes_each(&outside->options->query, outside_follow_found, outside);
    outside->scan_ns = recorder_cpu_ns() - began;
    outside->scans++;
    if (outside->scanned)
        keep_budget(outside, now - outside->scanned);
    outside->scanned = now;
}

static void wait_for_stop(uint64_t ns)
{
    sigset_t child;
    struct timespec wait = {0, (long)ns};
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigtimedwait(&child, NULL, &wait);
}

/* A thread that waits for a CPU looks like one that runs. So whether it runs is looked at by the clock, and it is stopped when it has used
 * a period of CPU time since: what a program does while others take the CPUs has no ticks. One that owes more is looked at twice as often. */
static void tick(struct outside *outside, struct outside_process *process, struct outside_thread *thread)
{
    uint64_t now = clock_now_ns(), distance = outside_next_tick(outside, now) - now;
    outside_charge(outside, process, thread);
    thread->next = now + (thread->owed > 1 ? distance / 2 : distance);
    outside->totals.ticks++;
    bool spent = outside->debt_ns > outside->allowed * DEBT_NS;
    if (thread->owed < 0 || (!spent && !outside_thread_runs(process->pid, thread)))
        return;
    thread->owed--;
    if (spent)
        return;
    process->starts = !process->executor;
    if (process->starts && (!outside_work(outside, now) || process->ended))
        return;
    remote_python_thread(process->python, thread);
    now = clock_now_ns();
    if (stop_ask((pid_t)thread->tid) < 0)
        return;
    thread->asked = now;
    thread->waited = thread->killed = false;
    outside->asked++;
    while (!outside_take_stop(outside, process, thread)) {
        uint64_t waited = clock_now_ns() - now;
        if (waited >= STOP_WAIT_NS) { /* it waits for a CPU, and stops when it gets one */
            thread->waited = true;
            return;
        }
        wait_for_stop(STOP_WAIT_NS - waited);
    }
}

/* Those of ended processes too: a thread whose end nobody takes keeps its process from ending. */
static void take_all_stops(struct outside *outside)
{
    array_each (&outside->processes, struct outside_process *, each) {
        struct outside_process *process = *each;
        for (size_t i = 0; outside->asked && i < process->threads.count; i++)
            if (process->threads.items[i].asked)
                outside_take_stop(outside, process, &process->threads.items[i]);
    }
}

/* When threads are to be looked for again: as often as the budget allows. */
static uint64_t next_scan(const struct outside *outside)
{
    uint64_t pause = outside_pause(outside, outside->scan_ns, SCAN_PART);
    pause = pause < OUTSIDE_SCAN_NS ? OUTSIDE_SCAN_NS : pause > SCAN_MOST_NS ? SCAN_MOST_NS : pause;
    return outside->scanned ? outside->scanned + pause : 0;
}

static void drain(void *context, uint64_t until, struct source_level *level)
{
    struct outside *outside = context;
    take_all_stops(outside);
    if (until >= next_scan(outside))
        scan_all(outside, until);
    bool held = !outside_work(outside, until) || outside->waits;
    uint64_t next = next_scan(outside);
    if (held && next > until + HELD_NS)
        next = until + HELD_NS;
    array_each (&outside->processes, struct outside_process *, process) {
        for (size_t i = 0; outside->wanted && !held && !(*process)->ended && i < (*process)->threads.count; i++) {
            struct outside_thread *thread = &(*process)->threads.items[i];
            if (thread->active && !thread->asked && thread->next <= until && outside->asked < ASKED_MOST) {
                tick(outside, *process, thread);
                take_all_stops(outside);
            }
            if (thread->active && !thread->asked && thread->next < next)
                next = thread->next;
        }
    }
    uint64_t now = clock_now_ns();
    source_level_due(level, next > now ? next - now : 1);
}

static int want(void *context, bool wanted)
{
    ((struct outside *)context)->wanted = wanted;
    return 0;
}

/* A thread that waits for a CPU is let go when it has stopped. */
static void finish(void *context)
{
    struct outside *outside = context;
    outside->wanted = false;
    for (unsigned i = 0; outside->asked && i < 1000; i++) {
        wait_for_stop(1000000);
        take_all_stops(outside);
    }
    scan_all(outside, clock_now_ns());
    outside_work(outside, clock_now_ns());
}

bool outside_hold(struct outside *outside)
{
    outside->waits = true;
    return outside_is_quiet(outside);
}

void outside_go_on(struct outside *outside)
{
    outside->waits = false;
}

static void close_outside(void *context)
{
    struct outside *outside = context;
    array_each (&outside->processes, struct outside_process *, process)
        outside_process_free(outside, *process);
    array_free(&outside->processes);
    rule_files_free(outside->rule_files);
    map64_free(&outside->refused);
    free(outside);
}

bool outside_ended(const struct outside *outside)
{
    array_each (&outside->processes, struct outside_process *, process)
        if (!(*process)->ended)
            return false;
    return true;
}

struct outside_totals outside_totals(const struct outside *outside)
{
    return outside->totals;
}

static uint64_t cost_ns(void *context)
{
    return ((struct outside *)context)->totals.stop_ns;
}

struct source outside_source(struct outside *outside)
{
    return (struct source){.kind = FROM_OUTSIDE,
                           .needed = true,
                           .context = outside,
                           .open = open_outside,
                           .want = want,
                           .drain = drain,
                           .cost_ns = cost_ns,
                           .finish = finish,
                           .close = close_outside};
}
