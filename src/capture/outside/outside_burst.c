#include "capture/outside/outside_burst.h"

#include "base/clock.h"
#include "capture/outside/attach_check.h"
#include "capture/outside/outside_locals.h"
#include "capture/outside/thread_stop.h"
#include "wire/record.h"

#include <string.h>
#include <unistd.h>

enum {
    SKIP_BELOW = 64, /* accesses that pass first: where a thread is stopped is where it had to wait */
    BLIND_MOST = 3,
    TWICE_FIRST = 4,
    TWICE_EVERY = 32, /* bursts of a thread that are done held and let go, to compare */
};

/* A thread is let go before its burst where this share of bursts done in both ways was the same, of about so many. */
#define ALIKE_ENOUGH 0.95
#define ALIKE_OVER   16

enum {
    ASKS = 64,     /* for rules of code, in a burst that keeps nobody waiting */
    ASKS_HELD = 16 /* each takes the executor some 20 us */
};

static void note_stop(struct outside *outside, uint64_t ns)
{
    outside->totals.stop_ns += ns;
    unsigned octave = ns < 16 ? 0 : 63u - (unsigned)__builtin_clzll(ns) - 4;
    unsigned bin = ns < 16 ? (unsigned)ns : octave * 16 + (unsigned)(ns >> octave & 15) + 16;
    outside->stops[bin < OUTSIDE_STOP_BINS ? bin : OUTSIDE_STOP_BINS - 1]++;
}

bool outside_stops(const struct outside *outside, double us[static 3])
{
    static const double parts[] = {0.5, 0.95, 0.99};
    uint64_t all = 0, sum = 0;
    for (unsigned i = 0; i < OUTSIDE_STOP_BINS; i++)
        all += outside->stops[i];
    for (unsigned i = 0, which = 0; i < OUTSIDE_STOP_BINS && which < 3; i++) {
        sum += outside->stops[i];
        uint64_t ns = i < 32 ? i : (16ull + i % 16) << (i / 16 - 1);
        for (; which < 3 && (double)sum >= parts[which] * (double)all; which++)
            us[which] = (double)ns / 1000;
    }
    return all > 0;
}

/* Who called what is at `pc`, as the executor answered. */
static void take_callers(const volatile struct executor_native *native, uint32_t number, uint64_t pc,
                         struct native_chain *chain)
{
    uint32_t count = native->count, which = native->of[number];
    const volatile struct executor_callers *from =
        which && which <= count && count <= EXECUTOR_CHAINS ? &native->items[which - 1] : NULL;
    uint32_t depth = from ? from->depth : 0;
    chain->frames[0] = pc;
    chain->depth = depth <= EXECUTOR_CALLERS ? depth + 1 : 1;
    chain->cut = chain->depth != depth + 1 || !from || from->cut;
    for (uint32_t i = 1; i < chain->depth; i++)
        chain->frames[i] = from->frames[i - 1];
}

/* The executor writes the job while we read it: each number is taken once. */
static void put_samples(struct outside *outside, struct outside_process *process, struct outside_thread *thread,
                        uint64_t time)
{
    const volatile struct executor_job *job = executor_job(process->executor);
    const struct capture_options *options = outside->options;
    uint32_t count = job->count;
    struct capture_process *known = running_process(outside->running, process->pid, thread->tid, time);
    if (!thread->has_stack)
        outside_locals(outside->sink, process->pid, thread->tid, job->bases[0], time);
    outside_thread_stack(outside->sink, process->pid, thread, job->general[EXECUTOR_SP], time);
    outside_look_for_objects(outside, process, thread, time);
    bool first = true;
    for (uint32_t i = 0; i < count && i < options->burst; i++) {
        uint64_t pc = job->accesses[i].pc, addr = job->accesses[i].addr;
        uint8_t flags = job->accesses[i].flags & (SAMPLE_READ | SAMPLE_WRITE | SAMPLE_LOCKED);
        if (!((flags & SAMPLE_READ && options->loads) || (flags & SAMPLE_WRITE && options->stores)))
            continue;
        struct native_chain native;
        take_callers(&job->native, i, pc, &native);
        for (unsigned j = 0; j < native.depth; j++)
            running_runs(outside->running, process->pid, native.frames[j] - (j > 0), time + i);
        uint64_t frames[WIRE_MAX_FRAMES];
        unsigned depth =
            known ? remote_python_chain(process->python, outside->sink, known, job, i, &native, frames, WIRE_MAX_FRAMES)
                  : 0;
        struct event event = {.time = time + i, .pid = process->pid, .tid = thread->tid, .kind = EVENT_SAMPLE};
        event.sample = (struct event_sample){
            .addr = addr,
            .stack = known ? process_stack(outside->running->processes, known, frames, (uint16_t)depth, native.cut) : 0,
            .cpu = thread->cpu,
            .size = job->accesses[i].size,
            .source = SOURCE_SOFT,
            .flags = (uint8_t)(flags | (first ? SAMPLE_FIRST : 0)),
        };
        first = false;
        sink_put(outside->sink, &event);
        if (outside->listener->sample)
            outside->listener->sample(outside->listener->context, process->pid, addr, time + i);
    }
    outside->totals.bursts++;
    outside->totals.steps += job->steps;
    outside->totals.accesses += count < EXECUTOR_ACCESSES ? count : EXECUTOR_ACCESSES;
    uint32_t end = job->end;
    process->blind = end == EXECUTOR_CODE && job->steps == 0 ? process->blind + 1 : 0;
    if (count == 0)
        sink_loss(outside->sink, time, process->pid, thread->tid,
                  end == EXECUTOR_STEPS ? LOSS_TICK_NO_ACCESS : LOSS_TICK_UNSTEPPED, 1);
}

static uint32_t count_of(const volatile struct executor_job *job)
{
    uint32_t count = job->count;
    return count < EXECUTOR_ACCESSES ? count : EXECUTOR_ACCESSES;
}

/* As far as both go: while a thread is held, less is asked for. */
static bool callers_alike(const struct executor_native *now, const struct executor_native *held, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        struct native_chain a, b;
        take_callers(now, i, 0, &a);
        take_callers(held, i, 0, &b);
        unsigned depth = a.depth < b.depth ? a.depth : b.depth;
        if (memcmp(a.frames, b.frames, depth * sizeof *a.frames) != 0 || (!a.cut && !b.cut && a.depth != b.depth))
            return false;
    }
    return true;
}

/* Whether the burst that was done before, while the thread was held, saw the same. */
static bool is_alike(const struct outside *outside, const struct executor_job *job, uint32_t count)
{
    return count_of(job) == count && memcmp(job->accesses, outside->held, count * sizeof *outside->held) == 0 &&
           remote_python_alike(&job->chains, &outside->held_chains, count) &&
           callers_alike(&job->native, &outside->held_native, count);
}

static void let_go(struct outside *outside, struct outside_thread *thread)
{
    thread->killed = !stop_let_go((pid_t)thread->tid);
    note_stop(outside, clock_now_ns() - thread->asked);
}

/* What the thread reads may change when it runs on before the executor has read it. So some bursts are done twice: while the thread is
 * held, and again when it has been let go. Where both are the same, further ones are done without holding it. */
static bool follow_twice(struct outside *outside, struct outside_process *process, struct outside_thread *thread,
                         bool first)
{
    struct executor_job *job = executor_job(process->executor);
    uint32_t skip = job->skip, count;
    memcpy(outside->state, job->state, sizeof outside->state);
    job->asks = job->code_number ? ASKS_HELD : 0;
    bool done = executor_run(process->executor, process->rules);
    let_go(outside, thread); /* whether or not the executor has ended */
    if (!done)
        return false;
    count = count_of(job);
    memcpy(outside->held, job->accesses, count * sizeof *outside->held);
    outside->held_chains = job->chains;
    outside->held_native = job->native;
    job->asks = job->code_number ? ASKS : 0;
    job->skip = skip;
    memcpy(job->state, outside->state, sizeof outside->state);
    if (!executor_run(process->executor, process->rules))
        return false;
    bool same = is_alike(outside, job, count);
    thread->alike = first ? same : thread->alike + ((double)same - thread->alike) / ALIKE_OVER;
    memcpy(job->accesses, outside->held, count * sizeof *outside->held); /* those are right in any case */
    job->count = count;
    job->chains = outside->held_chains;
    if (!same)
        job->native = outside->held_native;
    return true;
}

/* From the stop to the accesses; the thread runs again. False: the executor has ended. */
static bool follow(struct outside *outside, struct outside_process *process, struct outside_thread *thread)
{
    struct executor_job *job = executor_job(process->executor);
    uint32_t number = thread->bursts++;
    job->skip = (uint32_t)(outside_random(outside) % SKIP_BELOW);
    job->want = outside->options->burst;
    remote_python_ask(process->python, thread, job);
    job->code_number = remote_rules_number(process->rules);
    bool twice = number < TWICE_FIRST || number % TWICE_EVERY == 0, hold = thread->alike < ALIKE_ENOUGH, done = true;
    job->asks = job->code_number == 0 ? 0 : hold ? ASKS_HELD : ASKS;
    if (twice || !hold)
        stop_copy_stack((pid_t)thread->tid, job);
    if (twice)
        return follow_twice(outside, process, thread, number == 0);
    if (hold)
        done = executor_run(process->executor, process->rules);
    let_go(outside, thread);
    return done && (hold || executor_run(process->executor, process->rules));
}

/* A thread that replaces its program goes on as the first of its process, and its own number ends. */
static bool goes_on_as_first(const struct outside_process *process, struct outside_thread *thread)
{
    if (thread->tid == process->pid || attach_tracer(process->pid) != getpid())
        return false;
    thread->tid = process->pid;
    return true;
}

bool outside_take_stop(struct outside *outside, struct outside_process *process, struct outside_thread *thread)
{
    bool wanted = process->executor && !process->ended;
    struct executor_job *job = wanted ? executor_job(process->executor) : NULL;
    enum stop_state state = stop_take((pid_t)thread->tid, process->child && thread->tid == process->pid, job);
    if (state == STOP_NOT_YET || (state == STOP_ENDED && goes_on_as_first(process, thread)))
        return false;
    uint64_t time = clock_now_ns();
    bool done = true;
    if (thread->waited)
        thread->asked = time; /* until then it waited for a CPU, not for us */
    if (state == STOP_TAKEN) {
        done = follow(outside, process, thread);
    } else if (state == STOP_IN_CALL) {
        let_go(outside, thread);
    }
    if (!thread->killed || state == STOP_ENDED) {
        thread->asked = 0;
        outside->asked--;
    }
    if (!done) {
        sink_loss(outside->sink, time, process->pid, thread->tid, LOSS_TICK_UNSTEPPED, 1);
        outside_restart(outside, process);
    } else if (state == STOP_TAKEN) {
        remote_python_answered(thread, job);
        put_samples(outside, process, thread, time);
    }
    if (wanted && process->blind >= BLIND_MOST)
        outside_renew(outside, process, clock_now_ns());
    return true;
}
