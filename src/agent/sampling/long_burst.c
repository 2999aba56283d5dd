/* See long_burst.h. */
#include "agent/sampling/long_burst.h"

#include "agent/region/attach.h"
#include "agent/region/thread_ring.h"
#include "agent/sampling/account.h"
#include "agent/sampling/pace.h"
#include "agent/sampling/reuse_times.h"
#include "agent/sampling/sequences.h"
#include "agent/sampling/tick.h"
#include "agent/sampling/watch.h"
#include "agent/signals/signals.h"
#include "agent/unwind/unwind_modules.h"
#include "base/sys.h"

#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <stdatomic.h>
#include <sys/resource.h>

enum {
    FIRST_NS = 50000000, /* of the process's CPU time, before its first */
    LEAST_NS = 2000000,  /* that a burst takes, at most: this, ... */
    MOST_NS = 80000000,  /* ... but no more than a user would notice, ... */
    WATCHED_NS =
        4000000, /* ... nor more than this where a watch goes on when it is over: many bursts show more than long ones, ... */
    PARTS = 12, /* ... and of what the budget has allowed so far one part in so many */
    LONGER = 8, /* one burst in so many takes as many times as long: lines are used again after longer times */
    RUNS =
        32, /* of a thread's runs between its sleeps, that a burst takes at most, at a tenth of its speed: who waits for
                            an answer waits for some others before it, not for all of a burst */
    BUDGET_PARTS = 2,         /* of the budget, long bursts have one part in so many; the short ones the rest */
    SHARE_MOST_PPM = 100000,  /* of CPU time, whatever the budget: who is held up holds up others */
    COUNT_PARTS = 8,          /* of its time, counting what follows takes one part in so many at most ... */
    COUNT_BEFORE = 16,        /* ... and counting before it such a part, ... */
    COUNT_LEAST_NS = 1000000, /* ... or this: it is nearly as quick as the program, whose loops may be shorter, ... */
    COUNT_MOST = 4,           /* ... but no more than such a part, ... */
    COUNT_COST = 2,           /* ... so that it costs less than one part in so many */
    SLICE_FIRST = 2000,       /* accesses: enough to meet the blocks of a loop, which are translated in it */
    SLICE_NEXT = 20000,       /* ... and to take many times as long as its begin and end */
    SLICE_LEAST = 5000,       /* accesses: what a shorter one takes is mostly its begin and end */
    SLICE_NS = 1000000,       /* that a slice takes at most: a signal waits for its end */
    SLICE_NEW = 4,            /* blocks translated in a slice that still shows the program's speed */
    LOOK_NS = 5,              /* that looking at an access takes where it is quick */
    PAUSE_NS = 7000,          /* a breakpoint set, met and taken away; measured in a virtual machine */
    NUMBER_LEAST = 32,        /* of a breakpoint's signals: most ticks have smaller ones */
    PAUSE_PARTS = 2,          /* of a burst's time, pauses take one part in so many */
    PAUSE_TICKS = 64,         /* of the thread while it pauses, before it is given up */
    STALE_NS = 300000000,     /* CPU time of the process after which another thread takes a paused burst's place */
};

enum phase { COUNTING, LOOKING, COUNTING_BEHIND, SENDING };

/* Set by long_start; `used` by the first thread that has a burst: a fork's child has nothing to forget before. */
AGENT_FORKED static bool wanted, used;

static struct {
    uint8_t *reserved;          /* PROT_NONE, but for what is made in it */
    struct reuse_times *times;  /* NULL: nothing is made yet */
    bool refused;               /* nothing can be made */
    bool may_pause;             /* the kernel gives breakpoints, as far as is known */
    int breakpoint;             /* the number of its signals: tick_event() */
    bool replaced;              /* the last burst never went on behind a call */
    bool counts_last;           /* the last burst ended while it counted, or looked at next to nothing behind that */
    _Atomic uint32_t owner;     /* tid of the thread that has the burst; 0: none */
    _Atomic uint64_t ticked_ns; /* CPU time of the process, by its ticks */
    uint32_t number, modules;   /* modules: unwind_generation */

    /* The owner's. */
    enum phase phase;
    _Atomic bool paused; /* who sets it to false goes on with the burst, or takes its place */
    bool resuming;
    uint64_t pauses;
    uint32_t pause_ticks;
    uint64_t paused_at; /* ticked_ns */
    uint64_t limit_ns, began_ns, took_ns;
    uint64_t slice, counted, counted_ns, before, before_ns; /* before: what was counted before it looked */
    uint32_t sent;
    struct event_long_burst burst;
} bursts;

static size_t times_bytes(void)
{
    return (sizeof(struct reuse_times) + PAGE_LARGEST - 1) & ~(PAGE_LARGEST - 1ul);
}

/* Behind the stepper's memory: the times, the breakpoint's page, what watches need. */
static uint8_t *breakpoint_page(void)
{
    return bursts.reserved + step_long_bytes() + times_bytes();
}

static size_t reserved_bytes(void)
{
    return step_long_bytes() + times_bytes() + PAGE_LARGEST + watch_bytes();
}

void long_start(void)
{
    const struct wire_config *config = &agent_region->config;
    wanted = config->flags & WIRE_LONG_BURSTS && config->budget_ppm && step_long_bytes() > 0;
}

void long_forget(void)
{
    if (!used)
        return;
    used = false;
    bursts.reserved = NULL;
    watch_forget(NULL);
    bursts.times = NULL;
    bursts.refused = bursts.resuming = bursts.counts_last = bursts.replaced = false;
    atomic_store(&bursts.paused, false);
    bursts.number = 0;
    atomic_store(&bursts.owner, 0);
    step_long_forget();
}

/* Code of files: what a program makes for itself may change under our feet. And none with restartable sequences. */
static bool may_run(uint64_t pc)
{
    if (agent_owns_code(pc))
        return false;
    const struct unwind_modules *modules = unwind_modules_get();
    const struct unwind_module *module = modules ? unwind_module_at(modules, pc) : NULL;
    bool known = module && (module->is_vdso || (module->is_readable && !sequences_may_be_in(module)));
    unwind_modules_put();
    return known;
}

static bool make(void)
{
    if (bursts.times || bursts.refused)
        return bursts.times != NULL;
    bursts.refused = true;
    struct rlimit64 limit; /* what limits its address space keeps all of it */
    if (sys_call(SYS_prlimit64, 0, RLIMIT_AS, NULL, &limit) != 0 || limit.rlim_cur != RLIM64_INFINITY)
        return false;
    long at =
        sys_call(SYS_mmap, NULL, reserved_bytes(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0L);
    if (sys_failed(at))
        return false;
    bursts.reserved = (uint8_t *)at;
    uint8_t *times = bursts.reserved + step_long_bytes();
    if (sys_call(SYS_mprotect, times, times_bytes(), PROT_READ | PROT_WRITE) != 0 ||
        !step_long_make(bursts.reserved, may_run) ||
        sys_call(SYS_madvise, at, reserved_bytes(), MADV_DONTFORK) != 0) { /* a child would share what is written */
        step_long_forget();
        sys_unmap(bursts.reserved, reserved_bytes());
        return false;
    }
    bursts.may_pause = !(agent_region->config.flags & WIRE_TICK_TIMER_ONLY);
    watch_forget(bursts.may_pause ? breakpoint_page() + PAGE_LARGEST : NULL);
    bursts.times = (struct reuse_times *)times;
    bursts.refused = false;
    return true;
}

static uint32_t share_ppm(void)
{
    uint32_t share = agent_region->config.budget_ppm / BUDGET_PARTS + 1;
    return share < SHARE_MOST_PPM ? share : SHARE_MOST_PPM;
}

uint32_t long_budget_ppm(void)
{
    return wanted && !bursts.refused ? share_ppm() : 0;
}

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec now;
    if (attach_is_restricted() || sys_call(SYS_clock_gettime, clock, &now) != 0)
        return 0;
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static uint64_t spent_since(uint64_t began_ns)
{
    uint64_t now = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    return now > began_ns ? now - began_ns : 0;
}

/* The breakpoint is kept by a mapping, so that no descriptor stays open. */
static bool set_breakpoint(const struct agent_thread *self, uint64_t at)
{
    int tick = self->sampler.tick_number; /* the breakpoint's is another */
    struct perf_event_attr attr = {
        .type = PERF_TYPE_BREAKPOINT,
        .bp_type = HW_BREAKPOINT_X,
        .bp_addr = at,
        .bp_len = sizeof(long),
        .sample_period = 1,
    };
    return tick_event(&attr, breakpoint_page(), signals_tick(), tick > NUMBER_LEAST ? tick : NUMBER_LEAST,
                      &bursts.breakpoint);
}

static void clear_breakpoint(void)
{
    uint8_t *page = breakpoint_page();
    sys_call(SYS_mmap, page, (size_t)PAGE_UNIT, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
             0L);
    sys_call(SYS_madvise, page, (size_t)PAGE_UNIT, MADV_DONTFORK);
}

/* A thread that has not been recorded yet has no number. */
static bool owns(const struct agent_thread *self)
{
    return self->tid && atomic_load_explicit(&bursts.owner, memory_order_relaxed) == self->tid;
}

/* One rhythm for all processes of a recording: else each short one would have its first. */
static void schedule(uint64_t cost_ns)
{
    atomic_store(&agent_region->long_next_ns,
                 atomic_load(&agent_region->long_ticked_ns) + cost_ns * 1000000 / share_ppm());
}

/* This thread gets the process's burst, or takes it over from one that sleeps behind its call and keeps the others from theirs, or
 * from itself when it never came there. */
static bool take(struct agent_thread *self, uint64_t ticked)
{
    uint32_t owner = 0;
    if (atomic_compare_exchange_strong(&bursts.owner, &owner, self->tid))
        return true;
    if (!atomic_load(&bursts.paused) ||
        (owner == self->tid ? ++bursts.pause_ticks < PAUSE_TICKS : ticked - bursts.paused_at < STALE_NS) ||
        !atomic_exchange(&bursts.paused, false))
        return false;
    clear_breakpoint();
    bursts.replaced = true;
    atomic_store(&bursts.owner, self->tid);
    return true;
}

/* What the thread usually runs before it sleeps. */
static uint64_t run_ns(void)
{
    struct rusage usage;
    if (sys_call(SYS_getrusage, RUSAGE_THREAD, &usage) != 0)
        return MOST_NS;
    uint64_t us = (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000 +
                  (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
    return us * 1000 / ((uint64_t)usage.ru_nvcsw + 1);
}

static uint64_t longest(uint64_t cpu_ns)
{
    uint64_t allowed = cpu_ns / 1000000 * share_ppm() / PARTS, runs = run_ns() * RUNS;
    if (watch_may())
        return allowed < LEAST_NS || runs < LEAST_NS ? LEAST_NS : WATCHED_NS;
    if (bursts.number % LONGER == LONGER - 1 && !bursts.replaced) /* in threads that wait often no long one might end */
        allowed *= LONGER;
    bursts.replaced = false;
    allowed = allowed < runs ? allowed : runs;
    return allowed < LEAST_NS ? LEAST_NS : allowed > MOST_NS ? MOST_NS : allowed;
}

bool long_is_due(struct agent_thread *self, uint64_t since_ns, bool at_call)
{
    if (!wanted || bursts.refused || !step_has_long(self) || attach_is_restricted())
        return false;
    uint64_t ticked = atomic_fetch_add_explicit(&bursts.ticked_ns, since_ns, memory_order_relaxed) + since_ns;
    uint64_t all = atomic_fetch_add_explicit(&agent_region->long_ticked_ns, since_ns, memory_order_relaxed) + since_ns;
    if (at_call || !self->tid || all < atomic_load_explicit(&agent_region->long_next_ns, memory_order_relaxed))
        return false;
    uint64_t cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    if (cpu_ns < FIRST_NS || !take(self, ticked))
        return false;
    used = true;
    bursts.limit_ns = longest(cpu_ns);
    schedule(bursts.limit_ns); /* until it is known what it took */
    return true;
}

static void release(void)
{
    atomic_store(&bursts.owner, 0);
}

void long_skip(struct agent_thread *self)
{
    if (owns(self) && !atomic_load(&bursts.paused)) {
        schedule(0);
        release();
    }
    bursts.resuming = false;
}

static void send_event(struct agent_thread *self, struct wire_event *record, uint32_t words, uint32_t kind)
{
    record->head = (struct wire_head){.type = WIRE_EVENT, .words = (uint8_t)words, .cpu = agent_cpu(), .value = kind};
    record->time = agent_time();
    agent_commit(self, words);
}

/* Half of the ring is for samples and whatever cannot wait, while the thread lives: there are many rows. */
static struct wire_event *reserve(struct agent_thread *self, uint32_t words)
{
    struct wire_producer *producer = &self->producer;
    bool may = !self->sampler.ready || wire_ring_filled(producer) < producer->bytes / 2;
    return may ? wire_ring_reserve(producer, words) : NULL;
}

static bool send_end(struct agent_thread *self, const struct event_long_burst *burst)
{
    const uint32_t words = (sizeof(struct wire_event) + sizeof(struct event_long_burst)) / 8;
    struct wire_event *record = reserve(self, words);
    if (!record)
        return false;
    *(struct event_long_burst *)record->body = *burst;
    send_event(self, record, words, EVENT_LONG_BURST);
    return true;
}

static bool send_row(struct agent_thread *self, const struct event_reuse *row)
{
    const uint32_t words = (sizeof(struct wire_event) + sizeof *row) / 8;
    struct wire_event *record = reserve(self, words);
    if (!record)
        return false;
    *(struct event_reuse *)record->body = *row;
    send_event(self, record, words, EVENT_REUSE);
    return true;
}

static void send_watched(struct agent_thread *self)
{
    struct event_reuse row;
    if (self->producer.ring && watch_look(self, &row) && !send_row(self, &row))
        account_loss(self, LOSS_SAMPLE_FULL);
}

void long_send(struct agent_thread *self)
{
    send_watched(self);
    if (!owns(self) || bursts.phase != SENDING || !self->producer.ring)
        return;
    while (bursts.sent < bursts.times->row_count) {
        const struct reuse_row *row = &bursts.times->rows[bursts.sent];
        uint8_t flags = row->flags;
        if (flags & REUSE_WRITE && step_is_nontemporal(row->pc))
            flags |= REUSE_NONTEMPORAL;
        if (!send_row(self, &(struct event_reuse){.pc = row->pc,
                                                  .addr = row->addr,
                                                  .count = row->count,
                                                  .burst = bursts.burst.burst,
                                                  .bin = row->bin,
                                                  .flags = flags}))
            return; /* the next tick finds more room */
        bursts.sent++;
    }
    struct event_long_burst before = {.counted = bursts.before,
                                      .counted_ns = bursts.before_ns,
                                      .process_ns = bursts.burst.process_ns,
                                      .burst = bursts.burst.burst};
    if (bursts.before_ns && !send_end(self, &before))
        return;
    bursts.before_ns = 0;
    if (send_end(self, &bursts.burst))
        release();
}

void long_stop(void)
{
    if (!used || !atomic_exchange(&bursts.paused, false))
        return;
    clear_breakpoint();
    release();
}

void long_thread_stop(struct agent_thread *self)
{
    send_watched(self);
    watch_thread_stop(self);
    if (!owns(self))
        return;
    if (atomic_exchange(&bursts.paused, false))
        clear_breakpoint();
    long_send(self);
    if (owns(self)) {
        account_loss(self, LOSS_SAMPLE_FULL);
        release();
    }
}

static void finish(struct agent_thread *self, enum long_end end)
{
    if (bursts.phase == LOOKING) /* else what followed was counted, and the watch began before that */
        watch_start(self, bursts.times, bursts.number + 1);
    /* each second time at least it looks from the start */
    bursts.counts_last = !bursts.counts_last && (bursts.phase == COUNTING || bursts.times->now < SLICE_LEAST);
    bursts.burst = (struct event_long_burst){
        .accesses = bursts.phase == COUNTING ? 0 : bursts.times->now,
        .lost = bursts.times->lost,
        .counted = bursts.counted,
        .counted_ns = bursts.counted_ns,
        .process_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID),
        .took_ns = bursts.took_ns,
        .burst = ++bursts.number,
        .rows = bursts.times->row_count,
        .end = (uint8_t)end,
    };
    bursts.phase = SENDING;
    bursts.sent = 0;
    /* Where nothing could be seen that is an observation too: more of them would find what can be seen, not what there is. */
    bool useful = bursts.burst.accesses || bursts.counted || bursts.before;
    uint64_t cheap_ns = (bursts.counted_ns + bursts.before_ns) / COUNT_COST;
    schedule(!useful ? bursts.limit_ns : bursts.took_ns > cheap_ns ? bursts.took_ns - cheap_ns : 0);
    long_send(self);
}

static void begin(struct agent_thread *self)
{
    bursts.took_ns = bursts.counted = bursts.counted_ns = bursts.before = bursts.before_ns = 0;
    bursts.pauses = 0;
    bursts.phase = bursts.counts_last ? LOOKING : COUNTING;
    reuse_begin(bursts.times, account_random(self), bursts.limit_ns / LOOK_NS);
}

/* What looking leaves of a burst's time is for counting. */
static uint64_t until_ns(void)
{
    return bursts.phase == COUNTING_BEHIND ? bursts.limit_ns : bursts.limit_ns - bursts.limit_ns / COUNT_PARTS;
}

static bool goes_on(struct agent_thread *self)
{
    uint64_t pending = 0;
    if (self->sampler.stop || attach_is_restricted() || bursts.took_ns + spent_since(bursts.began_ns) > until_ns() ||
        atomic_load(&unwind_generation) != bursts.modules) /* what was translated may have been unloaded */
        return false;
    sys_call(SYS_rt_sigpending, &pending, sizeof(pending));
    return !(pending & ~self->sampler.long_blocked & ~signals_tick_bits());
}

/* Slices, each longer than the last, until they took long enough or had enough accesses. The first is for translating, and one in which
 * more had to be translated does not count. False: something must run by itself. */
static bool count_slices(struct agent_thread *self, ucontext_t *context, struct step_long *run, uint64_t most_ns,
                         uint64_t most)
{
    uint64_t counted_ns = 0, counted = 0, spent_ns = 0;
    while (counted_ns < most_ns && spent_ns < 2 * most_ns && counted < most) {
        uint64_t began = clock_ns(CLOCK_THREAD_CPUTIME_ID);
        run->most = bursts.slice;
        if (!step_long_run(self, context, run))
            return false;
        uint64_t took = spent_since(began);
        bool warm = run->translated < SLICE_NEW;
        run->fresh = false;
        spent_ns += took;
        if (warm && run->accesses >= SLICE_LEAST) {
            counted += run->accesses;
            counted_ns += took;
            bursts.counted += run->accesses;
            bursts.counted_ns += took;
        }
        if (run->end != LONG_ENOUGH || !goes_on(self))
            return false;
        uint64_t remaining = counted_ns < most_ns ? most_ns - counted_ns : 0;
        if (remaining > SLICE_NS)
            remaining = SLICE_NS;
        uint64_t fits = run->accesses * remaining / (took + 1);
        bursts.slice = bursts.slice < SLICE_NEXT ? SLICE_NEXT : warm ? 2 * bursts.slice : bursts.slice;
        if (warm && bursts.slice > fits)
            bursts.slice = fits > SLICE_NEXT ? fits : SLICE_NEXT;
    }
    return true;
}

/* A little, then as many accesses again at random, since a tick finds what is slow: it comes by time, not by accesses. */
static bool count_before(struct agent_thread *self, ucontext_t *context, bool fresh)
{
    struct step_long run = {.fresh = fresh};
    bursts.slice = SLICE_FIRST;
    uint64_t part_ns = bursts.limit_ns / COUNT_BEFORE, most_ns = bursts.limit_ns / COUNT_MOST;
    if (part_ns < COUNT_LEAST_NS)
        part_ns = most_ns < COUNT_LEAST_NS ? most_ns : COUNT_LEAST_NS;
    if (!count_slices(self, context, &run, part_ns, UINT64_MAX))
        return false;
    uint64_t skip = account_random(self) % (bursts.counted + 1);
    bursts.before = bursts.counted;
    bursts.before_ns = bursts.counted_ns;
    bursts.counted = bursts.counted_ns = 0;
    bursts.phase = LOOKING;
    while (skip > 0) {
        run.most = skip < bursts.slice ? skip : bursts.slice;
        if (!step_long_run(self, context, &run) || run.end != LONG_ENOUGH || !goes_on(self))
            return false;
        skip = skip > run.accesses ? skip - run.accesses : 0;
    }
    return true;
}

/* As many accesses as were looked at, right behind them: programs go from one loop to another within milliseconds, and each has a
 * speed of its own. Looking takes so long that others have had the shared cache meanwhile: analysis/reuse corrects it by what was counted
 * before. */
static void count_behind(struct agent_thread *self, ucontext_t *context)
{
    struct step_long run = {0};
    bursts.phase = COUNTING_BEHIND;
    bursts.slice = SLICE_NEXT;
    if (goes_on(self)) /* else a signal waits */
        count_slices(self, context, &run, bursts.limit_ns / COUNT_PARTS, bursts.times->now);
}

/* Goes on behind what must run by itself. */
static bool pause_burst(struct agent_thread *self)
{
    uint64_t behind = step_long_behind();
    if (!behind || !bursts.may_pause || (bursts.pauses + 1) * PAUSE_NS > bursts.limit_ns / PAUSE_PARTS ||
        self->sampler.stop || attach_is_restricted())
        return false;
    bursts.may_pause = set_breakpoint(self, behind); /* refused once, it will be again */
    if (!bursts.may_pause)
        return false;
    bursts.pauses++;
    bursts.took_ns += PAUSE_NS;
    count(&account_of(self)->handler_ns, PAUSE_NS);
    bursts.pause_ticks = 0;
    bursts.paused_at = atomic_load(&bursts.ticked_ns);
    schedule(bursts.took_ns); /* if it never goes on, another takes its place, and not as late as behind a whole one */
    atomic_store(&bursts.paused, true);
    return true;
}

void long_run(struct agent_thread *self, ucontext_t *context)
{
    struct sampler_thread *sampler = &self->sampler;
    bool again = bursts.resuming;
    self->inside++;
    sampler->bursting = true;
    sampler->stop = false;
    sampler->long_blocked = context->uc_sigmask.__val[0];
    uint64_t began_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    bursts.began_ns = began_ns;
    bursts.resuming = false;
    bool ready = make();
    if (ready && !again)
        begin(self);
    uint32_t modules = atomic_load(&unwind_generation);
    struct step_long run = {.times = bursts.times, .goes_on = goes_on, .fresh = !again || modules != bursts.modules};
    bursts.modules = modules;
    bool whole = ready && (bursts.phase == LOOKING || count_before(self, context, run.fresh));
    bool ran = whole && step_long_run(self, context, &run);
    bool enough = ran && run.end == LONG_ENOUGH;
    if (enough) {
        reuse_time_loads(bursts.times, account_random(self), pace_time_load);
        watch_start(self, bursts.times, bursts.number + 1);
        count_behind(self, context);
    }
    bursts.took_ns += spent_since(began_ns);
    if (!ready)
        release();
    else if (enough || bursts.took_ns > bursts.limit_ns || !pause_burst(self))
        finish(self, enough ? LONG_ENOUGH : sampler->stop ? LONG_CUT : LONG_CALL);
    count(&account_of(self)->handler_ns, spent_since(began_ns));
    sampler->bursting = false;
    signals_drop_ticks(self); /* that waited for its end */
    self->inside--;
}

bool long_is_resume(const siginfo_t *info)
{
    return tick_is_event(info, bursts.breakpoint);
}

bool long_resumes(struct agent_thread *self)
{
    if (!owns(self) || !atomic_exchange(&bursts.paused, false))
        return false;
    clear_breakpoint();
    bursts.resuming = true;
    return true;
}
