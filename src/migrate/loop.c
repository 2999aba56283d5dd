#include "migrate/loop.h"

#include "base/array.h"
#include "base/map64.h"
#include "base/mem.h"
#include "base/order.h"
#include "migrate/policies/policy_machine.h"
#include "capture/process/procfs.h"
#include "migrate/worker.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum {
    BYTES_PER_PAGE = 640, /* in two page maps, with the survey and the plan */
    BYTES_PER_PAST = 96,
    PROCESSES_TIMED = 256,
};

#define LAST_WAIT_NS 5000000000u
#define THREAD_ENDED ((uint64_t)1 << 32)

struct timed_process {
    uint32_t pid;
    uint64_t cpu_ns;
};

struct loop {
    struct loop_options options;
    struct loop_listener listener;
    struct nlens_machine *machine;
    struct memory memory;
    struct history *history;
    struct policy policy;
    struct worker *worker;
    struct worker_job job;
    struct page_map *map, *other;
    struct governor governor;
    struct loop_summary summary;
    uint64_t number, began, started, sampling_ns;
    uint64_t bursts; /* since the interval began */
    bool pinned, late;
    array_of(struct timed_process) processes;
    array_of(uint32_t) forget; /* began another program in this interval */
    array_of(uint32_t) forget_now;
    array_of(struct event) deferred; /* simulated machines only */
    struct map64 node_of_thread;
    uint32_t next_ordinal;
};

struct loop *loop_new(const struct loop_options *options, const struct loop_listener *listener, struct error *err)
{
    struct loop *loop = mem_zalloc(sizeof *loop);
    loop->options = *options;
    loop->listener = *listener;
    loop->machine = machine_new(options->topology);
    loop->memory =
        options->topology->simulated ? memory_simulated(options->topology) : memory_kernel(options->topology);
    loop->history = history_new(options->memory / 4 / BYTES_PER_PAST);
    loop->map = page_map_new(options->memory / BYTES_PER_PAGE);
    loop->other = page_map_new(options->memory / BYTES_PER_PAGE);
    governor_start(&loop->governor, options->never_rest, options->most_cost);
    if (policy_open(&loop->policy, options->policy, loop->machine, err) == 0) {
        snprintf(loop->summary.policy, sizeof loop->summary.policy, "%s", options->policy);
        loop->worker = worker_new(&loop->options, loop->machine, &loop->policy, &loop->memory, loop->history);
        if (loop->worker)
            return loop;
        error_set(err, -EAGAIN, "no thread can be started for moving pages: ulimit -u");
    }
    loop_finish(loop, 0, NULL);
    return NULL;
}

/* --- events --- */

static uint64_t thread_key(const struct event *event)
{
    return (uint64_t)event->pid << 32 | event->tid;
}

static void see_process(struct loop *loop, uint32_t pid)
{
    array_each (&loop->processes, struct timed_process, process)
        if (process->pid == pid)
            return;
    if (loop->processes.count < PROCESSES_TIMED)
        array_push(&loop->processes, (struct timed_process){pid, procfs_cpu_ns(pid)});
}

/* Faults of a thread may be drained after the news of its end: it keeps its node until another begins by its number. */
static uint32_t simulated_node(struct loop *loop, const struct event *event)
{
    bool is_new;
    uint64_t *node = map64_insert(&loop->node_of_thread, thread_key(event), &is_new);
    if (is_new || (event->kind == EVENT_THREAD_START && *node & THREAD_ENDED)) {
        const struct topology *topology = loop->options.topology;
        *node = (uint64_t)topology_node_of_cpu(topology, topology_assign_cpu(topology, loop->next_ordinal++));
    }
    if (event->kind == EVENT_THREAD_EXIT)
        *node |= THREAD_ENDED;
    return (uint32_t)*node;
}

static uint32_t node_of(struct loop *loop, const struct event *event, uint16_t cpu)
{
    if (loop->options.topology->simulated)
        return simulated_node(loop, event);
    int node = topology_node_of_cpu(loop->options.topology, cpu);
    return node >= 0 ? (uint32_t)node : UINT32_MAX;
}

static void take_access(struct loop *loop, const struct event *event, uint64_t addr, uint16_t cpu, bool write,
                        uint32_t latency, bool timed)
{
    uint32_t node = node_of(loop, event, cpu);
    memory_touch(&loop->memory, event->pid, addr, node, false);
    struct page_access access = {.addr = addr,
                                 .pid = event->pid,
                                 .thread = event->tid,
                                 .node = node,
                                 .write = write,
                                 .timed = timed,
                                 .latency = latency};
    page_map_add(loop->map, &access);
}

static uint16_t first_cpu(const struct event_page *page)
{
    for (unsigned word = 0; word < page->cpu_words; word++)
        if (page->cpus[word])
            return (uint16_t)(word * 64 + (unsigned)__builtin_ctzll(page->cpus[word]));
    return UINT16_MAX;
}

static void take(struct loop *loop, const struct event *event)
{
    switch (event->kind) {
    case EVENT_SAMPLE:
        loop->bursts += (event->sample.flags & SAMPLE_FIRST) != 0;
        take_access(loop, event, event->sample.addr, event->sample.cpu, event->sample.flags & SAMPLE_WRITE,
                    event->sample.latency, event->sample.flags & SAMPLE_HAS_LATENCY);
        break;
    case EVENT_PAGE: /* first touches among them, but in this interval */
        for (unsigned write = 0; write < 2; write++)
            if (write ? event->page.writes : event->page.reads + event->page.unknown) {
                loop->bursts++;
                take_access(loop, event, event->page.page, first_cpu(&event->page), write, 0, false);
            }
        break;
    case EVENT_TOUCH: /* a first touch: it gives a simulated page's home node, and is no sample of use */
        memory_touch(&loop->memory, event->pid, event->touch.addr, node_of(loop, event, event->touch.cpu), true);
        break;
    case EVENT_PROCESS_START:
        array_push(&loop->forget, event->pid);
        memory_forget(&loop->memory, event->pid);
        see_process(loop, event->pid);
        node_of(loop, event, 0);
        break;
    case EVENT_THREAD_START:
    case EVENT_THREAD_EXIT:
        node_of(loop, event, 0);
        break;
    default:
        break;
    }
}

void loop_event(struct loop *loop, const struct event *event)
{
    if (!loop->options.topology->simulated)
        take(loop, event);
    else if (event->kind == EVENT_SAMPLE || event->kind == EVENT_TOUCH || event->kind == EVENT_PROCESS_START ||
             event->kind == EVENT_THREAD_START || event->kind == EVENT_THREAD_EXIT || event->kind == EVENT_PAGE) {
        struct event kept = *event;
        if (event->kind == EVENT_PAGE)
            kept.page.cpu_words = 0; /* the mask is not ours to keep; a simulated machine has other CPUs */
        array_push(&loop->deferred, kept);
    }
}

ORDER_BY(by_time, struct event, ORDER(a->time, b->time))

/* Threads are assigned to a simulated machine in the order in which they began, and the first to touch a page is its home:
 * both need the order of time, which rings drained one after another do not have. */
static void take_deferred(struct loop *loop)
{
    array_sort(&loop->deferred, by_time);
    array_each (&loop->deferred, struct event, event)
        take(loop, event);
    loop->deferred.count = 0;
}

/* --- intervals --- */

/* There is nothing to decide any more, or never was. */
static bool is_over(const struct loop *loop)
{
    return loop->summary.policy_stopped || loop->options.topology->node_count < 2;
}

static uint64_t cpu_since(struct loop *loop)
{
    uint64_t sum = 0;
    size_t to = 0;
    for (size_t i = 0; i < loop->processes.count; i++) {
        struct timed_process process = loop->processes.items[i];
        uint64_t now = procfs_cpu_ns(process.pid);
        if (now == 0)
            continue; /* it has exited */
        sum += now > process.cpu_ns ? now - process.cpu_ns : 0;
        process.cpu_ns = now;
        loop->processes.items[to++] = process;
    }
    loop->processes.count = to;
    return sum;
}

static void add_up(struct loop_summary *summary, const struct loop_interval *interval)
{
    struct loop_interval *total = &summary->total;
    summary->intervals++;
    total->samples += interval->samples;
    total->bursts += interval->bursts;
    total->lost += interval->lost;
    total->pages += interval->pages;
    total->huge += interval->huge;
    total->known += interval->known;
    total->remote += interval->remote;
    total->homeless += interval->homeless;
    total->requests += interval->requests;
    for (unsigned i = 0; i < PLAN_SKIPS; i++)
        total->skipped[i] += interval->skipped[i];
    for (unsigned i = 0; i < PLAN_INVALIDS; i++)
        total->invalid[i] += interval->invalid[i];
    total->moved.pages += interval->moved.pages;
    total->moved.bytes += interval->moved.bytes;
    for (unsigned i = 0; i < MOVE_FAILURES; i++)
        total->moved.failed[i] += interval->moved.failed[i];
    if (!total->moved.failure.code)
        total->moved.failure = interval->moved.failure;
    if (!total->failure.code)
        total->failure = interval->failure;
    total->threads = interval->threads > total->threads ? interval->threads : total->threads;
    total->sampling_ns += interval->sampling_ns;
    total->cpu_ns += interval->cpu_ns;
    total->locate_ns += interval->locate_ns;
    total->evaluate_ns += interval->evaluate_ns;
    total->migrate_ns += interval->migrate_ns;
    if (interval->known) {
        summary->last = (struct loop_share){interval->remote, interval->known, interval->bursts};
        if (summary->first.known == 0)
            summary->first = summary->last;
    }
}

static void add_words(struct loop_summary *summary, const struct plan *plan)
{
    for (size_t i = 0; i < plan->word_count; i++) {
        size_t at = 0;
        while (at < summary->word_count && strcmp(summary->words[at].text, plan->words[i].text) != 0)
            at++;
        if (at == PLAN_WORDS)
            continue;
        if (at == summary->word_count)
            summary->words[summary->word_count++] = (struct plan_word){.count = 0};
        memcpy(summary->words[at].text, plan->words[i].text, sizeof summary->words[at].text);
        summary->words[at].count += plan->words[i].count;
    }
}

/* The worker has done a job: report it, and decide what comes next. */
static void collect(struct loop *loop, struct worker_job *job)
{
    const struct loop_interval *interval = &job->interval;
    size_t moved = 0;
    for (size_t i = 0; i < job->plan.count; i++)
        if (job->plan.items[i].to != job->plan.items[i].from)
            job->plan.items[moved++] = job->plan.items[i];
    job->plan.count = moved;
    add_up(&loop->summary, interval);
    add_words(&loop->summary, &job->plan);
    if (loop->listener.interval)
        loop->listener.interval(loop->listener.context, interval, job->plan.items, job->plan.count);
    struct governor_interval judged = {
        .samples = interval->samples,
        .known = interval->known,
        .remote = interval->remote,
        .moved = loop->options.dry_run ? 0 : interval->moved.pages,
        .requests = interval->requests,
        .cost_ns = (double)(interval->sampling_ns + interval->migrate_ns),
        .cpu_ns = (double)interval->cpu_ns,
    };
    governor_next(&loop->governor, &judged);
    loop->summary.policy_stopped |= job->verdict != 0;
    plan_free(&job->plan);
}

static void rest_interval(struct loop *loop, struct loop_interval *interval)
{
    static const struct governor_interval nothing;
    interval->paused = true;
    loop->summary.paused++;
    add_up(&loop->summary, interval);
    page_map_clear(loop->map);
    if (loop->listener.interval)
        loop->listener.interval(loop->listener.context, interval, NULL, 0);
    if (!is_over(loop))
        governor_next(&loop->governor, &nothing);
}

static void end_interval(struct loop *loop, uint64_t now, uint64_t sampling_ns)
{
    struct loop_interval interval = {
        .number = ++loop->number, .began = loop->began, .ended = now, .bursts = loop->bursts};
    loop->bursts = 0;
    interval.sampling_ns = sampling_ns > loop->sampling_ns ? sampling_ns - loop->sampling_ns : 0;
    interval.cpu_ns = cpu_since(loop);
    loop->sampling_ns = sampling_ns;
    loop->began = now;
    loop->late = false;
    if (is_over(loop) || governor_rests(&loop->governor)) {
        rest_interval(loop, &interval);
        return;
    }
    loop->forget_now.count = 0;
    array_each (&loop->forget, uint32_t, pid)
        array_push(&loop->forget_now, *pid);
    loop->forget.count = 0;
    loop->job = (struct worker_job){.map = loop->map,
                                    .interval = interval,
                                    .forget = loop->forget_now.items,
                                    .forget_count = loop->forget_now.count};
    loop->map = loop->other;
    loop->other = loop->job.map;
    worker_start_job(loop->worker, &loop->job);
}

bool loop_step(struct loop *loop, uint64_t now, uint64_t sampling_ns)
{
    if (!loop->pinned) {
        worker_pin(loop->options.pin);
        loop->pinned = true;
        loop->began = loop->started = now;
    }
    take_deferred(loop);
    struct worker_job *job = worker_take(loop->worker, 0);
    if (job)
        collect(loop, job);
    if (now >= loop->began + loop->options.interval_ns) {
        if (!worker_is_busy(loop->worker)) {
            end_interval(loop, now, sampling_ns);
        } else if (!loop->late) {
            loop->late = true;
            loop->summary.late++;
        }
    }
    return !is_over(loop) && !governor_rests(&loop->governor);
}

static void summarise(struct loop *loop, uint64_t now, struct loop_summary *summary)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    uint64_t used = (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000000u +
                    (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000u;
    *summary = loop->summary;
    summary->total.number = loop->number;
    summary->total.began = loop->started;
    summary->total.ended = now;
    summary->contended = history_contended(loop->history);
    summary->monitor_ns = used > summary->total.migrate_ns ? used - summary->total.migrate_ns : 0;
    memcpy(summary->pauses, loop->governor.pauses, sizeof summary->pauses);
}

void loop_finish(struct loop *loop, uint64_t now, struct loop_summary *summary)
{
    const char *hangs = NULL;
    if (loop->worker) {
        struct worker_job *job =
            worker_take(loop->worker, loop->options.patience_ns ? loop->options.patience_ns : LAST_WAIT_NS);
        if (job)
            collect(loop, job);
        hangs = worker_stop(loop->worker);
    }
    if (summary) {
        summarise(loop, now, summary);
        summary->hangs = hangs;
    }
    if (hangs)
        return; /* it may still use everything */
    policy_close(&loop->policy);
    loop->memory.close(loop->memory.context);
    machine_free(loop->machine);
    history_free(loop->history);
    page_map_free(loop->map);
    page_map_free(loop->other);
    array_free(&loop->processes);
    array_free(&loop->forget);
    array_free(&loop->forget_now);
    array_free(&loop->deferred);
    map64_free(&loop->node_of_thread);
    free(loop);
}
