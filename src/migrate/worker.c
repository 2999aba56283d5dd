#include "migrate/worker.h"

#include "base/clock.h"
#include "base/mem.h"
#include "migrate/policies/policy_machine.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

enum { CLOSED_FIRST = 4, CLOSED_MOST = 64 }; /* intervals */
enum stage { STAGE_LOCATE, STAGE_POLICY, STAGE_MOVE };

struct worker {
    const struct loop_options *options;
    struct nlens_machine *machine;
    const struct policy *policy;
    const struct memory *memory;
    struct history *history;
    pthread_t thread;
    pthread_mutex_t lock; /* of all below */
    pthread_cond_t changed;
    struct worker_job *job, *done;
    bool stop;
    _Atomic int stage;
    /* Nodes that had no room: closed for a while, twice as long each time. Asking a full node makes the kernel look for
     * memory to free, which takes long. */
    uint64_t closed_until[TOPOLOGY_MAX_NODES];
    uint32_t closed_for[TOPOLOGY_MAX_NODES];
};

void worker_pin(int cpu)
{
    if (cpu < 0)
        return;
    size_t bytes = CPU_ALLOC_SIZE((size_t)cpu + 1);
    cpu_set_t *set = CPU_ALLOC((size_t)cpu + 1);
    if (!set)
        return;
    CPU_ZERO_S(bytes, set);
    CPU_SET_S((size_t)cpu, bytes, set);
    sched_setaffinity(0, bytes, set);
    CPU_FREE(set);
}

/* Nodes that the first process may use: what policies see as open. Moves are checked process by process. */
static void look_at_machine(struct worker *worker, const struct survey *survey, uint64_t interval)
{
    machine_refresh(worker->machine, worker->options->topology);
    struct nlens_policy_node *nodes = (struct nlens_policy_node *)worker->machine->nodes;
    for (uint32_t i = 0; i < worker->machine->node_count; i++)
        if (interval <= worker->closed_until[i])
            nodes[i].free = 0;
    if (survey->process_count && !survey->processes->ended)
        machine_open(worker->machine, survey->processes->open);
}

static void close_full_nodes(struct worker *worker, const struct loop_interval *interval)
{
    for (uint32_t i = 0; i < worker->machine->node_count; i++) {
        if (!(interval->moved.no_memory_on[i / 64] >> i % 64 & 1))
            continue;
        bool again = worker->closed_for[i] && interval->number <= worker->closed_until[i] + CLOSED_FIRST;
        uint32_t length = again ? worker->closed_for[i] * 2 : CLOSED_FIRST;
        worker->closed_for[i] = length < CLOSED_MOST ? length : CLOSED_MOST;
        worker->closed_until[i] = interval->number + worker->closed_for[i];
    }
}

/* As if every move had been made, each page once. */
static void simulate_moves(struct worker *worker, struct worker_job *job)
{
    struct loop_interval *interval = &job->interval;
    for (size_t i = 0; i < job->plan.count; i++) {
        struct plan_move *move = &job->plan.items[i];
        if (history_moves(worker->history, move->pid, move->page)) {
            interval->skipped[SKIP_HELD]++;
        } else {
            interval->moved.pages++;
            interval->moved.bytes += move->bytes;
            history_moved(worker->history, move->pid, move->page, interval->number);
        }
        move->to = move->from;
    }
}

static void do_job(struct worker *worker, struct worker_job *job)
{
    const struct loop_options *options = worker->options;
    struct loop_interval *interval = &job->interval;
    struct survey survey;
    uint64_t start = clock_now_ns();
    atomic_store(&worker->stage, STAGE_LOCATE);
    for (size_t i = 0; i < job->forget_count; i++)
        history_forget(worker->history, job->forget[i]);
    interval->samples = page_map_samples(job->map);
    interval->lost = page_map_lost(job->map);
    interval->threads = page_map_threads(job->map);
    survey_make(&survey, job->map, worker->memory, options->topology, !options->topology->simulated);
    look_at_machine(worker, &survey, interval->number);
    interval->pages = survey.page_count;
    interval->huge = survey.huge;
    interval->known = survey.known;
    interval->remote = survey.remote;
    interval->homeless = survey.homeless;
    interval->failure = survey.failure;
    uint64_t located = clock_now_ns();

    atomic_store(&worker->stage, STAGE_POLICY);
    job->verdict =
        plan_make(&job->plan, worker->policy->type, worker->policy->self, worker->machine, &survey, worker->memory,
                  worker->history, &options->limits, interval->number, interval->ended - interval->began);
    interval->requests = job->plan.requests;
    for (unsigned i = 0; i < PLAN_SKIPS; i++)
        interval->skipped[i] = job->plan.skipped[i];
    for (unsigned i = 0; i < PLAN_INVALIDS; i++)
        interval->invalid[i] = job->plan.invalid[i];
    uint64_t evaluated = clock_now_ns();

    atomic_store(&worker->stage, STAGE_MOVE);
    if (options->dry_run)
        simulate_moves(worker, job);
    else
        mover_run(&interval->moved, &job->plan, worker->memory, worker->history, interval->number);
    close_full_nodes(worker, interval);
    survey_free(&survey);
    page_map_clear(job->map);
    interval->locate_ns = located - start;
    interval->evaluate_ns = evaluated - located;
    interval->migrate_ns = clock_now_ns() - evaluated;
}

static void *run(void *argument)
{
    struct worker *worker = argument;
    worker_pin(worker->options->pin);
    pthread_mutex_lock(&worker->lock);
    while (!worker->stop) {
        struct worker_job *job = worker->job;
        if (!job || worker->done) {
            pthread_cond_wait(&worker->changed, &worker->lock);
            continue;
        }
        pthread_mutex_unlock(&worker->lock);
        do_job(worker, job);
        pthread_mutex_lock(&worker->lock);
        worker->done = job;
        worker->job = NULL;
        pthread_cond_broadcast(&worker->changed);
    }
    pthread_mutex_unlock(&worker->lock);
    return NULL;
}

struct worker *worker_new(const struct loop_options *options, struct nlens_machine *machine,
                          const struct policy *policy, const struct memory *memory, struct history *history)
{
    struct worker *worker = mem_zalloc(sizeof *worker);
    worker->options = options;
    worker->machine = machine;
    worker->policy = policy;
    worker->memory = memory;
    worker->history = history;
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&worker->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    pthread_mutex_init(&worker->lock, NULL);
    /* Signals are for the thread that drains: one that came here would not wake it. */
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int code = pthread_create(&worker->thread, NULL, run, worker);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (code == 0)
        return worker;
    pthread_cond_destroy(&worker->changed);
    pthread_mutex_destroy(&worker->lock);
    free(worker);
    return NULL;
}

void worker_start_job(struct worker *worker, struct worker_job *job)
{
    pthread_mutex_lock(&worker->lock);
    worker->job = job;
    pthread_cond_broadcast(&worker->changed);
    pthread_mutex_unlock(&worker->lock);
}

struct worker_job *worker_take(struct worker *worker, uint64_t wait_ns)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    uint64_t ns = (uint64_t)until.tv_nsec + wait_ns;
    until.tv_sec += (time_t)(ns / 1000000000);
    until.tv_nsec = (long)(ns % 1000000000);
    pthread_mutex_lock(&worker->lock);
    while (wait_ns && worker->job && !worker->done &&
           pthread_cond_timedwait(&worker->changed, &worker->lock, &until) == 0)
        ;
    struct worker_job *done = worker->done;
    worker->done = NULL;
    pthread_mutex_unlock(&worker->lock);
    return done;
}

bool worker_is_busy(struct worker *worker)
{
    pthread_mutex_lock(&worker->lock);
    bool busy = worker->job != NULL;
    pthread_mutex_unlock(&worker->lock);
    return busy;
}

const char *worker_stop(struct worker *worker)
{
    static const char *const stages[] = {
        [STAGE_LOCATE] = "asking the kernel for pages' home nodes",
        [STAGE_POLICY] = "the policy's decide()",
        [STAGE_MOVE] = "moving pages",
    };
    if (worker_is_busy(worker)) {
        pthread_detach(worker->thread);
        return stages[atomic_load(&worker->stage)];
    }
    pthread_mutex_lock(&worker->lock);
    worker->stop = true;
    pthread_cond_broadcast(&worker->changed);
    pthread_mutex_unlock(&worker->lock);
    pthread_join(worker->thread, NULL);
    pthread_cond_destroy(&worker->changed);
    pthread_mutex_destroy(&worker->lock);
    free(worker);
    return NULL;
}
