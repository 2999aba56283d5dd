#include "library/engine.h"

#include "agent/join.h"
#include "base/clock.h"
#include "capture/agent_source.h"
#include "capture/probe.h"
#include "library/data_src.h"
#include "library/kept.h"

#include <dirent.h>
#include <errno.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    MEMORY = 96 << 20, /* of address space; rings take memory when they are used: 480 threads at once */
    BURST = 8,
    FRAMES = 32,
    ROUND_NS = 10000000,  /* between looks at the rings, while a session runs */
    TEND_NS = 100000000,  /* between looks for threads and libraries that came or went */
    LATE_NS = 1000000000, /* no sample is handed over later than this */
    QUIET_ROUNDS = 50,    /* without a session, before the thread sleeps until there is one */
};

struct engine {
    pid_t pid;                 /* whose engine this is: a fork's child has a copy that is good for nothing */
    pthread_mutex_t lock;      /* sessions; held for short moments */
    pthread_mutex_t pump_lock; /* everything below it; never taken with `lock` held */
    nlens_session *sessions;
    unsigned running;
    pthread_cond_t spared; /* a session is no longer busy */
    _Atomic uint64_t overrun, skipped;

    struct capture_region region;
    struct capture_means means;
    struct counter_clock clock;
    struct sink sink;
    struct process_table processes;
    struct agent_source *agents;
    struct kept kept;
    taken_array taken; /* of one round */
    uint64_t tended;
    pthread_t thread;         /* known before it runs: others may stand in front of its start */
    _Atomic uint32_t own_tid; /* of the thread that empties the rings */
    _Atomic bool asleep;      /* until it is woken */
    int failure;              /* of the making */
};

static pthread_mutex_t making = PTHREAD_MUTEX_INITIALIZER;
static struct engine *engine; /* written once, with `making` held */

static void take_sample(const struct event *event)
{
    const struct event_sample *sample = &event->sample;
    struct taken taken = {.stack = sample->stack, .source = sample->source, .flags = sample->flags};
    taken.sample = (nlens_sample){
        .time = event->time,
        .ip = kept_ip(&engine->kept, sample->stack),
        .addr = sample->addr,
        .tid = event->tid,
        .latency = sample->latency,
        .level = sample->level,
        .cpu = sample->cpu,
        .size = sample->size,
        .read = (sample->flags & SAMPLE_READ) != 0,
        .write = (sample->flags & SAMPLE_WRITE) != 0,
        .locked = (sample->flags & SAMPLE_LOCKED) != 0,
        .has_latency = (sample->flags & SAMPLE_HAS_LATENCY) != 0,
    };
    taken.sample.data_src = data_src_of(&taken.sample);
    array_push(&engine->taken, taken);
}

static void take_loss(const struct event_loss *loss)
{
    switch (loss->cause) {
    case LOSS_RING_FULL:
    case LOSS_SAMPLE_FULL:
    case LOSS_NO_RING:
        engine->overrun += loss->count;
        break;
    case LOSS_TICK_MASKED:
    case LOSS_TICK_BUSY:
    case LOSS_TICK_BUDGET:
    case LOSS_TICK_UNSTEPPED:
        engine->skipped += loss->count;
        break;
    default:
        break;
    }
}

static void see_event(void *context, const struct event *event)
{
    (void)context;
    if (event->kind == EVENT_SAMPLE)
        take_sample(event);
    else if (event->kind == EVENT_LOSS)
        take_loss(&event->loss);
    else
        kept_add(&engine->kept, event);
}

void engine_lock(void)
{
    pthread_mutex_lock(&engine->lock);
}

void engine_unlock(void)
{
    pthread_mutex_unlock(&engine->lock);
}

/* With the pump's lock held. */
static void drain(void)
{
    uint64_t now = clock_now_ns();
    atomic_store_explicit(&engine->region.map->heartbeat_ns, now, memory_order_relaxed);
    counter_clock_renew(&engine->clock, now);
    engine->taken.count = 0;
    agent_source_drain(engine->agents, now);
    engine_lock();
    for (nlens_session *session = engine->sessions; session; session = session->next) {
        array_each (&engine->taken, struct taken, taken)
            session_offer(session, taken);
        session_forget_windows(session, now - LATE_NS);
    }
    engine_unlock();
}

void engine_drain(void)
{
    pthread_mutex_lock(&engine->pump_lock);
    drain();
    pthread_mutex_unlock(&engine->pump_lock);
}

size_t engine_tell_kept(size_t from, void (*tell)(void *context, const struct event *event), void *context)
{
    pthread_mutex_lock(&engine->pump_lock);
    size_t count = engine->kept.events.count;
    for (size_t i = from; i < count; i++)
        tell(context, &engine->kept.events.items[i]);
    pthread_mutex_unlock(&engine->pump_lock);
    return count;
}

uint64_t engine_overrun(void)
{
    return engine->overrun;
}

uint64_t engine_skipped(void)
{
    return engine->skipped;
}

const struct capture_means *engine_means(void)
{
    return &engine->means;
}

static bool is_running(void)
{
    engine_lock();
    bool running = engine->running > 0;
    engine_unlock();
    return running;
}

static void each_thread(void (*visit)(uint32_t tid, void *context), void *context)
{
    uint32_t own = atomic_load(&engine->own_tid);
    DIR *folder = opendir("/proc/self/task");
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        uint32_t tid = (uint32_t)strtoul(entry->d_name, NULL, 10);
        if (tid && tid != own)
            visit(tid, context);
    }
    if (folder)
        closedir(folder);
}

int engine_arm(uint32_t tid)
{
    return join_arm(tid) < 0 ? -ESRCH : 0;
}

static void arm(uint32_t tid, void *context)
{
    (void)context;
    join_arm(tid);
}

/* Threads whose ticks ended while no session ran, that were busy when they were called, or that are new. */
static void arm_again(void)
{
    bool all = false;
    array_of(uint32_t) tids = {0};
    engine_lock();
    for (nlens_session *session = engine->sessions; session; session = session->next) {
        if (!session->running)
            continue;
        all |= session->options.whole_process;
        for (size_t i = 0; i < session->tids.capacity; i++)
            if (session->tids.keys[i] != MAP64_EMPTY)
                array_push(&tids, (uint32_t)session->tids.keys[i]);
    }
    engine_unlock();
    array_each (&tids, uint32_t, tid)
        join_arm(*tid);
    array_free(&tids);
    if (all)
        each_thread(arm, NULL);
}

static void deliver(void)
{
    /* A session may be closed between two looks at the list: `busy` keeps it until it is delivered. */
    for (size_t index = 0;; index++) {
        engine_lock();
        nlens_session *session = engine->sessions;
        for (size_t i = 0; i < index && session; i++)
            session = session->next;
        if (session)
            session->busy++;
        engine_unlock();
        if (!session)
            return;
        session_deliver(session);
        engine_lock();
        if (--session->busy == 0)
            pthread_cond_broadcast(&engine->spared);
        engine_unlock();
    }
}

/* Sleeps until a ring is half full or a round is over; or, with `deeply`, until a session starts. */
static void rest(bool deeply)
{
    struct wire_region *region = engine->region.map;
    uint32_t word = atomic_load(&region->wake_word);
    struct timespec round = {0, ROUND_NS};
    atomic_store(&engine->asleep, deeply);
    atomic_store(&region->recorder_sleeps, 1);
    atomic_thread_fence(memory_order_seq_cst); /* pairs with start and with producers, which look whether we sleep */
    if (!deeply || !is_running())
        syscall(SYS_futex, &region->wake_word, FUTEX_WAIT, word, deeply ? NULL : &round, NULL, 0);
    atomic_store(&region->recorder_sleeps, 0);
    atomic_store(&engine->asleep, false);
}

static void wake(void)
{
    struct wire_region *region = engine->region.map;
    atomic_fetch_add(&region->wake_word, 1);
    syscall(SYS_futex, &region->wake_word, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static void *pump(void *unused)
{
    (void)unused;
    unsigned quiet = 0;
    pthread_setname_np(pthread_self(), "numalens");
    atomic_store(&engine->own_tid, (uint32_t)syscall(SYS_gettid));
    for (;;) {
        bool running = is_running();
        uint64_t now = clock_now_ns();
        quiet = running ? 0 : quiet + 1;
        if (running && join_keep())
            arm_again();
        pthread_mutex_lock(&engine->pump_lock);
        drain();
        bool due = now - engine->tended >= TEND_NS;
        if (due) {
            engine->tended = now;
            agent_source_tend(engine->agents, now);
        }
        pthread_mutex_unlock(&engine->pump_lock);
        if (due && running)
            join_refresh();
        deliver();
        rest(quiet > QUIET_ROUNDS);
    }
    return NULL;
}

/* What the agent's side is told: the most that any running session wants. With the lock held. */
static void configure(void)
{
    struct wire_config *config = &engine->region.map->config;
    uint64_t tick = UINT64_MAX;
    uint32_t budget = 0, flags = 0;
    for (nlens_session *session = engine->sessions; session; session = session->next) {
        if (!session->running)
            continue;
        tick = session->options.period_ns < tick ? session->options.period_ns : tick;
        budget = session->options.budget > budget ? session->options.budget : budget;
        flags |= session->options.wanted & NLENS_READS ? WIRE_SAMPLE_LOADS : 0;
        flags |= session->options.wanted & NLENS_WRITES ? WIRE_SAMPLE_STORES : 0;
    }
    if (flags == 0)
        return;
    config->flags = (config->flags & ~(uint32_t)(WIRE_SAMPLE_LOADS | WIRE_SAMPLE_STORES)) | flags;
    config->tick_ns = tick;
    config->budget_ppm = budget;
}

int engine_started(nlens_session *session, struct error *err)
{
    if (!join_keep())
        return error_set(err, -EBUSY, "the sampler's signals (SIGSEGV, SIGBUS, SIGILL, SIGTRAP) cannot be taken back");
    struct wire_region *region = engine->region.map;
    engine->running++;
    configure();
    atomic_store_explicit(&region->heartbeat_ns, clock_now_ns(), memory_order_relaxed);
    atomic_store(&region->resting, 0);
    /* Arming takes the kernel tens of microseconds: the library's thread sees to it. */
    bool armed = !session->options.whole_process && !atomic_load(&engine->asleep);
    for (size_t i = 0; i < session->tids.capacity && armed; i++)
        armed = session->tids.keys[i] == MAP64_EMPTY || join_is_armed((uint32_t)session->tids.keys[i]);
    if (!armed)
        wake();
    return 0;
}

void engine_stopped(nlens_session *session)
{
    (void)session;
    if (--engine->running == 0)
        atomic_store(&engine->region.map->resting, 1);
    configure();
}

void engine_add(nlens_session *session)
{
    engine_lock();
    session->next = engine->sessions;
    engine->sessions = session;
    engine_unlock();
}

void engine_remove(nlens_session *session)
{
    engine_lock();
    nlens_session **link = &engine->sessions;
    while (*link && *link != session)
        link = &(*link)->next;
    if (*link)
        *link = session->next;
    while (session->busy)
        pthread_cond_wait(&engine->spared, &engine->lock);
    engine_unlock();
}

struct census {
    uint32_t threads, waiting;
};

static void count_thread(uint32_t tid, void *context)
{
    struct census *census = context;
    census->threads++;
    census->waiting += !join_is_armed(tid);
}

void engine_count_threads(const nlens_session *session, uint32_t *threads, uint32_t *waiting)
{
    struct census census = {0};
    if (session->options.whole_process)
        each_thread(count_thread, &census);
    for (size_t i = 0; i < session->tids.capacity && !session->options.whole_process; i++)
        if (session->tids.keys[i] != MAP64_EMPTY)
            count_thread((uint32_t)session->tids.keys[i], &census);
    *threads = census.threads;
    *waiting = session->running ? census.waiting : 0;
}

static int make_region(struct error *err)
{
    struct error why = {0};
    engine->means.perf_tick = probe_perf_tick(&why);
    if (!engine->means.perf_tick)
        snprintf(engine->means.tick_reason, sizeof engine->means.tick_reason, "%.255s", why.text);
    const struct capture_options options = {
        .tick_ns = ENGINE_TICK_NS,
        .burst = BURST,
        .budget_ppm = ENGINE_BUDGET_PPM,
        .max_frames = FRAMES,
        .loads = true,
        .stores = true,
        .latency = true,
        .samples = SAMPLES_SOFT,
        .memory = MEMORY,
    };
    int code = capture_region_make(&engine->region, &options, engine->means.perf_tick, err);
    if (code < 0)
        return code;
    engine->region.map->config.flags |= WIRE_JOINED;
    atomic_store(&engine->region.map->resting, 1);
    counter_clock_start(&engine->clock, !(engine->region.map->config.flags & WIRE_COUNTER_IS_CPU));
    engine->sink.tap = see_event;
    process_table_init(&engine->processes, &engine->sink, MEMORY / 16);
    engine->processes.first = (uint32_t)getpid();
    engine->agents =
        agent_source_new(&engine->region, &engine->processes, &engine->sink, &engine->clock, NULL, MEMORY / 16);
    return 0;
}

static int start_pump(struct error *err)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int code = pthread_create(&engine->thread, NULL, pump, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (code)
        return error_set(err, -code, "cannot start the thread that collects samples: %s", strerror(code));
    pthread_detach(engine->thread);
    return 0;
}

static int join(struct error *err)
{
    switch (join_start(engine->region.map)) {
    case JOIN_OK:
        return 0;
    case JOIN_TAKEN:
        return error_set(err, -EBUSY, "this process is recorded already");
    case JOIN_STATIC:
        return error_set(err, -ENOTSUP,
                         "the soft sampler is part of the executable and cannot tell its own code from the program's: "
                         "link libnumalens.so instead of libnumalens.a");
    default:
        return error_set(err, -EPERM, "the soft sampler cannot step instructions here: numalens doctor says why");
    }
}

/* A preloaded agent holds the same signals. */
static bool is_recorded(void)
{
    return getenv(WIRE_ENVIRONMENT) != NULL;
}

static int make(struct error *err)
{
    if (is_recorded())
        return error_set(err, -EBUSY,
                         "this process is being recorded by numalens record, which takes the same samples: run it "
                         "without, or do without a session");
    engine = mem_zalloc(sizeof *engine);
    engine->pid = getpid();
    engine->region.fd = -1;
    pthread_mutex_init(&engine->lock, NULL);
    pthread_mutex_init(&engine->pump_lock, NULL);
    pthread_cond_init(&engine->spared, NULL);
    int code = make_region(err);
    /* The thread first: the process's introduction may need more than a ring holds. */
    if (code == 0 && (code = start_pump(err)) == 0)
        code = join(err);
    engine->failure = code;
    return code;
}

int engine_need(struct error *err)
{
    pthread_mutex_lock(&making);
    int code = 0;
    if (!engine)
        code = make(err);
    else if (engine->failure)
        code = error_set(err, engine->failure, "the soft sampler could not be started before, and will not be now");
    else if (engine->pid != getpid())
        code = error_set(err, -ECHILD, "a child made by fork() cannot sample: let it exec a program that does");
    pthread_mutex_unlock(&making);
    return code;
}

bool engine_is_ours(void)
{
    return engine && engine->pid == getpid();
}

bool nlens_is_own_thread(void)
{
    return engine && pthread_equal(pthread_self(), engine->thread);
}
