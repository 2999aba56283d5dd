#include "lib/sampling/session_engine.h"

#include "agent/join.h"
#include "base/clock.h"
#include "capture/process/proc.h"
#include "lib/sampling/collect.h"
#include "lib/sampling/soft.h"

#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    LATE_NS = 1000000000, /* no sample is handed over later than this */
    QUIET_POLLS = 50,     /* without a session, before the thread sleeps until there is one */
};

struct engine {
    pid_t pid;                 /* whose engine this is: a fork's child has a copy that is good for nothing */
    pthread_mutex_t lock;      /* sessions; held for short moments */
    pthread_mutex_t pump_lock; /* everything below it; never taken with `lock` held */
    nlens_session *sessions;
    unsigned running, soft_running;
    pthread_cond_t spared; /* a session is no longer busy */

    struct soft soft;
    struct collect collect;
    struct sources sources;    /* the soft sampler; sessions on hardware have their own */
    struct source_level level; /* of all of them, in this pass */
    pthread_t thread;          /* known before it runs: others may stand in front of its start */
    _Atomic uint32_t own_tid;  /* of the thread that empties the rings */
    sem_t begun;               /* the thread has said its number */
    _Atomic bool asleep;       /* until it is woken */
    bool ordinary, patient;    /* its scheduling: the usual one, and what it is now; see be_patient */
    int failure;               /* of the making */
};

static pthread_mutex_t making = PTHREAD_MUTEX_INITIALIZER;
static struct engine *engine; /* written once, with `making` held */

void engine_lock(void)
{
    pthread_mutex_lock(&engine->lock);
}

void engine_unlock(void)
{
    pthread_mutex_unlock(&engine->lock);
}

/* The session of that number in the list, kept from being closed until give_back(); NULL behind the last. */
static nlens_session *borrow(size_t index)
{
    engine_lock();
    nlens_session *session = engine->sessions;
    for (size_t i = 0; i < index && session; i++)
        session = session->next;
    if (session)
        session->busy++;
    engine_unlock();
    return session;
}

static void give_back(nlens_session *session)
{
    engine_lock();
    if (--session->busy == 0)
        pthread_cond_broadcast(&engine->spared);
    engine_unlock();
}

/* With the lock held. */
static void offer(nlens_session *session, uint64_t now)
{
    array_each (&engine->collect.taken, struct taken, taken)
        session_offer(session, taken);
    session_forget_windows(session, now - LATE_NS);
}

static void drain_hardware(nlens_session *session, uint64_t now)
{
    engine_lock();
    uint64_t until = session->running ? now : UINT64_MAX;
    engine_unlock();
    engine->collect.taken.count = 0;
    struct source_level level;
    sources_drain(&session->sources, until, &level);
    source_level_raise(&engine->level, level.filled);
    engine_lock();
    offer(session, now);
    engine_unlock();
}

/* With the pump's lock held. */
static void drain(void)
{
    uint64_t now = clock_now_ns();
    engine->collect.taken.count = 0;
    sources_drain(&engine->sources, now, &engine->level);
    engine_lock();
    bool hardware = false;
    for (nlens_session *session = engine->sessions; session; session = session->next) {
        hardware |= session->hardware != NULL;
        if (!session->hardware)
            offer(session, now);
    }
    engine_unlock();
    nlens_session *session;
    for (size_t i = 0; hardware && (session = borrow(i)); i++) {
        if (session->hardware)
            drain_hardware(session, now);
        give_back(session);
    }
}

void engine_drain(void)
{
    pthread_mutex_lock(&engine->pump_lock);
    drain();
    pthread_mutex_unlock(&engine->pump_lock);
}

size_t engine_report_kept(size_t from, void (*report)(void *context, const struct event *event), void *context)
{
    pthread_mutex_lock(&engine->pump_lock);
    size_t count = engine->collect.kept.events.count;
    for (size_t i = from; i < count; i++)
        report(context, &engine->collect.kept.events.items[i]);
    pthread_mutex_unlock(&engine->pump_lock);
    return count;
}

uint64_t engine_overrun(void)
{
    return engine->collect.overrun;
}

uint64_t engine_skipped(void)
{
    return engine->collect.skipped;
}

const struct capture_means *engine_means(void)
{
    return &engine->soft.means;
}

static bool is_running(void)
{
    engine_lock();
    bool running = engine->running > 0;
    engine_unlock();
    return running;
}

/* Threads whose ticks ended while no session ran, that were busy when they were called, or that are new. */
static void arm_again(void)
{
    bool all = false;
    array_of(uint32_t) tids = {0};
    engine_lock();
    for (nlens_session *session = engine->sessions; session; session = session->next) {
        if (!session->running || session->hardware)
            continue;
        all |= session->options.whole_process;
        map64_each (&session->tids, i)
            array_push(&tids, (uint32_t)session->tids.keys[i]);
    }
    engine_unlock();
    soft_arm(tids.items, tids.count, all, engine->own_tid);
    array_free(&tids);
}

static void deliver(void)
{
    nlens_session *session;
    for (size_t i = 0; (session = borrow(i)); i++) {
        session_deliver(session);
        give_back(session);
    }
}

/* An event on the thread; with the pump's lock held. 0, or negative: then the thread is in the list without, unless it has
 * ended: one that exits stays in the process' list for a while, a main thread until the process ends. */
static int watch(nlens_session *session, uint32_t tid, struct error *err)
{
    struct hw_source *source = hardware_open(session->hardware, tid, err);
    if (!source && err->code == -ESRCH)
        return err->code;
    engine_lock();
    hardware_put(session->hardware, tid, source);
    engine_unlock();
    return source ? 0 : err->code;
}

/* Gives back what the thread's event takes. With the pump's lock held. */
static void unwatch(nlens_session *session, uint32_t tid)
{
    struct hw_source *source = NULL;
    engine_lock();
    hardware_take(session->hardware, tid, &source);
    engine_unlock();
    hw_source_close(source);
}

/* With the lock held. */
static int want(void *context, bool wanted)
{
    const nlens_session *session = context;
    return hardware_enable(session->hardware, wanted);
}

static void collect(void *context, uint64_t until, struct source_level *level)
{
    source_level_raise(level, collect_hardware(&engine->collect, context, until, &engine->soft.clock));
}

/* A session on hardware as a source, whose events it frees itself. */
static struct source session_source(nlens_session *session)
{
    return (struct source){.kind = FROM_HARDWARE, .context = session, .want = want, .drain = collect};
}

static void watch_new(uint32_t tid, void *context)
{
    nlens_session *session = context;
    struct error ignored = {0};
    if (tid != engine->own_tid && !hardware_has(session->hardware, tid))
        watch(session, tid, &ignored);
}

/* Threads that began, of sessions for the whole process; and those that ended. With the pump's lock held. */
static void watch_threads(nlens_session *session, bool due)
{
    if (session->options.whole_process)
        proc_each_thread((uint32_t)getpid(), watch_new, session);
    uint32_t tid;
    while (due && (tid = hardware_ended(session->hardware))) {
        drain_hardware(session, clock_now_ns()); /* its last samples */
        unwatch(session, tid);
    }
}

static void watch_all_threads(bool due)
{
    nlens_session *session;
    for (size_t i = 0; (session = borrow(i)); i++) {
        if (session->hardware && session->running)
            watch_threads(session, due);
        give_back(session);
    }
}

int engine_add_thread(nlens_session *session, uint32_t tid, struct error *err)
{
    int code = 0;
    if (session->hardware) {
        pthread_mutex_lock(&engine->pump_lock);
        if (!hardware_has(session->hardware, tid) && (code = watch(session, tid, err)) < 0)
            unwatch(session, tid);
        pthread_mutex_unlock(&engine->pump_lock);
    }
    if (code < 0)
        return code;
    engine_lock();
    map64_insert(&session->tids, tid, NULL);
    if (session->running && !session->hardware)
        join_arm(tid);
    engine_unlock();
    return 0;
}

bool engine_remove_thread(nlens_session *session, uint32_t tid)
{
    pthread_mutex_lock(&engine->pump_lock);
    drain(); /* what it did so far is the session's */
    if (session->hardware)
        unwatch(session, tid);
    pthread_mutex_unlock(&engine->pump_lock);
    engine_lock();
    bool there = map64_remove(&session->tids, tid);
    engine_unlock();
    return there;
}

/* Sleeps until a ring is half full or the interval is over; or, with `deeply`, until a session starts. */
static void rest(bool deeply)
{
    struct wire_region *region = engine->soft.region.map;
    uint32_t word = atomic_load(&region->wake_word);
    struct timespec pause = {0, (long)source_sleep_ns(&engine->level)};
    atomic_store(&engine->asleep, deeply);
    atomic_store(&region->recorder_sleeps, 1);
    atomic_thread_fence(memory_order_seq_cst); /* pairs with start and with producers, which look whether we sleep */
    if (!deeply || !is_running())
        syscall(SYS_futex, &region->wake_word, FUTEX_WAIT_PRIVATE, word, deeply ? NULL : &pause, NULL, 0);
    atomic_store(&region->recorder_sleeps, 0);
    atomic_store(&engine->asleep, false);
}

void engine_wake(void)
{
    struct wire_region *region = engine->soft.region.map;
    atomic_fetch_add(&region->wake_word, 1);
    syscall(SYS_futex, &region->wake_word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

/* While nothing is sampled the thread does not preempt others when it wakes: whoever starts a session is not
 * interrupted by it in the middle of that. */
static void be_patient(bool patient)
{
    static const struct sched_param none = {0};
    if (engine->patient == patient || !engine->ordinary)
        return;
    engine->patient = patient;
    pthread_setschedparam(pthread_self(), patient ? SCHED_BATCH : SCHED_OTHER, &none);
}

static void *pump(void *unused)
{
    (void)unused;
    unsigned quiet = 0;
    engine->ordinary = sched_getscheduler(0) == SCHED_OTHER;
    pthread_setname_np(pthread_self(), "numalens");
    atomic_store(&engine->own_tid, (uint32_t)syscall(SYS_gettid));
    sem_post(&engine->begun);
    for (;;) {
        bool running = is_running();
        uint64_t now = clock_now_ns();
        quiet = running ? 0 : quiet + 1;
        if (running && soft_keep(&engine->soft))
            arm_again();
        pthread_mutex_lock(&engine->pump_lock);
        drain();
        bool due = sources_tend(&engine->sources, now);
        if (running)
            watch_all_threads(due);
        pthread_mutex_unlock(&engine->pump_lock);
        if (due && running)
            soft_refresh(&engine->soft);
        deliver();
        be_patient(!running);
        rest(quiet > QUIET_POLLS);
    }
    return NULL;
}

static int start_hardware(nlens_session *session, struct error *err)
{
    int code = sources_want(&session->sources, true);
    if (code < 0) {
        sources_want(&session->sources, false);
        return error_set(err, code, "the kernel does not enable %s: %s",
                         hardware_choice(session->hardware)->events[0].name, strerror(-code));
    }
    engine->running++;
    return atomic_load(&engine->asleep);
}

int engine_started(nlens_session *session, struct error *err)
{
    if (session->hardware)
        return start_hardware(session, err);
    if (!soft_keep(&engine->soft))
        return error_set(err, -EBUSY, "the sampler's signals (SIGSEGV, SIGBUS, SIGILL, SIGTRAP) cannot be taken back");
    struct wire_region *region = engine->soft.region.map;
    engine->running++;
    engine->soft_running++;
    soft_configure(&engine->soft, engine->sessions);
    atomic_store_explicit(&region->heartbeat_ns, clock_now_ns(), memory_order_relaxed);
    sources_want(&engine->sources, true);
    /* Arming takes the kernel tens of microseconds: the library's thread sees to it. */
    return session->options.whole_process || atomic_load(&engine->asleep) || !soft_is_armed(session);
}

void engine_stopped(nlens_session *session)
{
    engine->running--;
    if (session->hardware) {
        sources_want(&session->sources, false);
        return;
    }
    if (--engine->soft_running == 0)
        sources_want(&engine->sources, false);
    soft_configure(&engine->soft, engine->sessions);
}

void engine_add(nlens_session *session)
{
    if (session->hardware)
        sources_open(&session->sources, session_source(session), NULL);
    engine_lock();
    session->next = engine->sessions;
    engine->sessions = session;
    engine_unlock();
    if (!session->hardware || !session->options.whole_process)
        return;
    /* So that starting it has nothing left to do. */
    pthread_mutex_lock(&engine->pump_lock);
    watch_threads(session, false);
    pthread_mutex_unlock(&engine->pump_lock);
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
    if (tid == engine->own_tid)
        return;
    census->threads++;
    census->waiting += !join_is_armed(tid);
}

void engine_count_threads(const nlens_session *session, uint32_t *threads, uint32_t *waiting)
{
    struct census census = {0};
    if (session->hardware) {
        hardware_count(session->hardware, threads, waiting);
        return;
    }
    if (session->options.whole_process)
        proc_each_thread((uint32_t)getpid(), count_thread, &census);
    for (size_t i = 0; i < session->tids.capacity && !session->options.whole_process; i++)
        if (session->tids.keys[i] != MAP64_EMPTY)
            count_thread((uint32_t)session->tids.keys[i], &census);
    *threads = census.threads;
    *waiting = session->running ? census.waiting : 0;
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
    while (sem_wait(&engine->begun) != 0) /* until its number is known: no session is to sample it */
        ;
    return 0;
}

static int make(struct error *err)
{
    engine = mem_zalloc(sizeof *engine);
    engine->pid = getpid();
    pthread_mutex_init(&engine->lock, NULL);
    pthread_mutex_init(&engine->pump_lock, NULL);
    pthread_cond_init(&engine->spared, NULL);
    sem_init(&engine->begun, 0, 0);
    collect_init(&engine->collect);
    int code = soft_make(&engine->soft, &engine->collect.processes, &engine->collect.sink, err);
    if (code == 0)
        code = sources_open(&engine->sources, soft_source(&engine->soft), err);
    if (code == 0)
        code = start_pump(err);
    engine->failure = code;
    return code;
}

int engine_need(bool soft, struct error *err)
{
    pthread_mutex_lock(&making);
    int code = 0;
    if (!engine)
        code = make(err);
    else if (engine->failure)
        code = error_set(err, engine->failure, "sampling could not be prepared before, and will not be now");
    else if (engine->pid != getpid())
        code = error_set(err, -ECHILD, "a child made by fork() cannot sample: let it exec a program that does");
    /* Last: the process's introduction may need more than a ring holds, which the thread empties. */
    if (code == 0 && soft)
        code = soft_join(&engine->soft, err);
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
