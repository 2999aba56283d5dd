/* agent/sampling/pace.c - see pace.h. All but the first two run in handlers: no locks, no allocation. */
#include "agent/sampling/pace.h"

#include "agent/region/attach.h"
#include "agent/sampling/account.h"
#include "agent/sampling/long_burst.h"
#include "agent/sampling/sampler.h"
#include "agent/sampling/step.h"
#include "agent/sampling/tick.h"
#include "agent/signals/signals.h"
#include "base/sys.h"

#include <stdatomic.h>
#include <sys/resource.h>

enum {
    LATENCY_LIMIT_NS = 20000, /* a load this slow met a page fault or another thread: no latency */
    DELIVERY_NS = 4000,       /* a tick's way through the kernel and back, where the recorder has not measured it */
    COST_FIRST_NS = 10000,    /* a burst, its signals apart, before one was measured */
    COST_SMOOTHING = 32,
    SPACING_TICKS = 16, /* between two looks at how often they come */
    SPACING_NS = 20000000,
    SPACING_LATE = 4, /* times as far apart as asked for, ... */
    LATE_LOOKS = 8,   /* ... so often in a row: a hypervisor that takes the CPU says nothing of the ticks to come */
    /* Perf's tick at a context switch, where its timer is stopped and started; measured in a virtual machine. */
    SWITCH_NS = 1400,
    SWITCH_BACK = 4,    /* times below the budget */
    SWITCH_TICKS = 4,   /* between two looks: few ticks come to threads that are in the kernel most of the time */
    TIMER_NS = 4000000, /* a timer's tick comes no more often where the kernel's own comes 250 times a second */
    TICK_SHARE = 12, /* ticks are asked for at this many times their cost at least: an eighth of a CPU as they come */
};

/* wire_counter() ticks per 1024 ns, for costs and latencies. */
static uint32_t ticks_per_1024ns;

void pace_learn_counter(void)
{
    if (agent_region->config.ticks_per_us) {
        ticks_per_1024ns = (uint32_t)((uint64_t)agent_region->config.ticks_per_us * 1024 / 1000);
    } else {
        struct timespec from, to;
        uint64_t ticks = wire_counter();
        clock_gettime(CLOCK_MONOTONIC_RAW, &from);
        uint64_t ns;
        do {
            clock_gettime(CLOCK_MONOTONIC_RAW, &to);
            ns = (uint64_t)(to.tv_sec - from.tv_sec) * 1000000000 + (uint64_t)to.tv_nsec - (uint64_t)from.tv_nsec;
        } while (ns < 200000);
        ticks_per_1024ns = (uint32_t)((wire_counter() - ticks) * 1024 / ns);
    }
}

uint64_t pace_to_ns(uint64_t ticks)
{
    return ticks_per_1024ns ? ticks * 1024 / ticks_per_1024ns : 0;
}

bool pace_time_load(uint64_t addr, uint32_t *ns)
{
    uint32_t ticks;
    if (!(agent_region->config.flags & WIRE_MEASURE_LATENCY) || agent_device_mapped || !step_probe(addr, &ticks))
        return false;
    uint64_t measured = pace_to_ns(ticks);
    *ns = (uint32_t)measured;
    return measured <= LATENCY_LIMIT_NS;
}

uint64_t pace_delivery_ns(void)
{
    return agent_region->config.signal_ns ? agent_region->config.signal_ns : DELIVERY_NS;
}

/* What a burst costs beyond the tick that starts it. One figure for all threads and the whole recording, changing slowly: when
 * each thread went by its last few bursts, those with slow memory were sampled more rarely than the others, and the first
 * moments of a thread more often than the rest. */
static uint64_t burst_cost(void)
{
    uint64_t known = atomic_load_explicit(&agent_region->burst_ns, memory_order_relaxed);
    return known ? known : COST_FIRST_NS;
}

/* Ticks that start no burst are to take half of the budget at most. They come half as often again as they are asked for. And
 * an eighth of a CPU, whatever the budget: where several virtual CPUs share a processor a tick takes as many times longer
 * than when it was measured, and ticks that come before the last is done with leave no time for the program at all. */
static uint64_t affordable_tick(void)
{
    const struct wire_config *config = &agent_region->config;
    uint64_t min_ns = config->budget_ppm ? pace_delivery_ns() * 3000000 / config->budget_ppm : 0;
    if (min_ns < pace_delivery_ns() * TICK_SHARE)
        min_ns = pace_delivery_ns() * TICK_SHARE;
    return min_ns > config->tick_ns ? min_ns : config->tick_ns;
}

uint64_t pace_period(const struct sampler_thread *sampler)
{
    const struct wire_config *config = &agent_region->config;
    uint64_t budget_ppm = config->budget_ppm - long_budget_ppm(), remaining_ppm = budget_ppm, cost = burst_cost();
    if (config->budget_ppm == 0)
        return config->tick_ns;
    if (sampler->has_timer) {
        cost += pace_delivery_ns(); /* every tick starts a burst */
    } else if (sampler->spacing_ns) {
        uint64_t ticks = pace_delivery_ns() * 1000000 / sampler->spacing_ns, min_ppm = budget_ppm / 4 + 1;
        remaining_ppm = ticks + min_ppm < budget_ppm ? budget_ppm - ticks : min_ppm;
    }
    uint64_t affordable = cost * 1000000 / remaining_ppm;
    return affordable > config->tick_ns ? affordable : config->tick_ns;
}

/* A perf event makes a thread's start and end three times as dear, and many threads end before its first tick; and one that is in the
 * kernel nearly all the time pays for it at each context switch, without ever getting a tick that would show that. So every thread
 * has a timer first, unless it must be sampled more often than timers can. */
static bool begins_by_timer(void)
{
    const struct wire_config *config = &agent_region->config;
    return config->tick_ns >= TIMER_NS && config->budget_ppm && !(config->flags & (WIRE_TICK_TIMER_ONLY | WIRE_JOINED));
}

static bool start_tick(struct agent_thread *self, bool by_timer)
{
    return tick_start(self, affordable_tick(), by_timer || agent_region->config.flags & WIRE_TICK_TIMER_ONLY,
                      signals_tick());
}

/* By a timer though perf might do: where there is none to be had, by perf. */
static bool start_provisionally(struct agent_thread *self, bool by_timer)
{
    self->sampler.by_switches = by_timer;
    if (start_tick(self, by_timer))
        return true;
    self->sampler.by_switches = false;
    return by_timer && start_tick(self, false);
}

bool pace_start(struct agent_thread *self)
{
    struct sampler_thread *sampler = &self->sampler;
    sampler->period_ns = agent_region->config.tick_ns;
    sampler->ticks = 0;
    sampler->user_seen = sampler->switches_seen = sampler->cpu_seen = 0;
    return start_provisionally(self, begins_by_timer());
}

/* The clock runs on while another thread has the CPU: where the tick's page shows that this happened, the burst cost what
 * others did. Where it cannot show it (a timer's tick), or a hypervisor took the CPU away, there is a limit: what happens
 * once in a while is not what the next burst will cost. */
void pace_learn_cost(struct agent_thread *self)
{
    struct sampler_thread *sampler = &self->sampler;
    uint64_t cost = pace_to_ns(wire_counter() - sampler->began), usual = burst_cost(),
             most = 2 * usual + pace_delivery_ns();
    bool interrupted = sampler->tick_page && tick_context_switches(self) != sampler->context_switches;
    bool alone = sampler->tick_page && !interrupted;
    count(&account_of(self)->handler_ns, interrupted ? usual : alone || cost < most ? cost : most);
    if (interrupted)
        return;
    if (cost > most)
        cost = most;
    atomic_store_explicit(&agent_region->burst_ns, (usual * (COST_SMOOTHING - 1) + cost) / COST_SMOOTHING + 1,
                          memory_order_relaxed);
}

static uint64_t in_ns(const struct timeval *time)
{
    return (uint64_t)time->tv_sec * 1000000000 + (uint64_t)time->tv_usec * 1000;
}

/* A thread whose context switches make perf's tick cost more than the budget gets a timer: that costs nothing there, but comes
 * with the kernel's own tick only. Until it switches more rarely again. */
static bool wants_other_tick(struct agent_thread *self, const struct rusage *usage)
{
    struct sampler_thread *sampler = &self->sampler;
    uint64_t switches = (uint64_t)usage->ru_nvcsw + (uint64_t)usage->ru_nivcsw;
    uint64_t cpu = in_ns(&usage->ru_utime) + in_ns(&usage->ru_stime), budget = agent_region->config.budget_ppm;
    uint64_t cost = (switches - sampler->switches_seen) * SWITCH_NS;
    uint64_t allowed = (cpu - sampler->cpu_seen) * budget / 1000000;
    bool often = cost > allowed, rarely = cost * SWITCH_BACK < allowed;
    sampler->switches_seen = switches;
    sampler->cpu_seen = cpu;
    return budget && !attach_is_restricted() && !(agent_region->config.flags & WIRE_JOINED) &&
           (sampler->has_timer ? rarely : often);
}

bool pace_learn_spacing(struct agent_thread *self)
{
    struct sampler_thread *sampler = &self->sampler;
    struct rusage usage;
    bool first_look = sampler->by_switches && sampler->cpu_seen == 0;
    if ((sampler->has_timer && !sampler->by_switches) || (++sampler->ticks % SWITCH_TICKS != 0 && !first_look) ||
        sys_call(SYS_getrusage, RUSAGE_THREAD, &usage) != 0)
        return true;
    if (wants_other_tick(self, &usage)) {
        bool by_timer = !sampler->has_timer;
        sampler->user_seen = sampler->ticks = 0;
        tick_stop(self);
        bool ticks = start_provisionally(self, by_timer);
        sampler->period_ns = pace_period(sampler);
        return ticks;
    }
    if (sampler->has_timer || sampler->ticks % SPACING_TICKS != 0)
        return true;
    uint64_t user = in_ns(&usage.ru_utime), since = user - sampler->user_seen, spacing = since / sampler->ticks;
    bool first = sampler->user_seen == 0;
    if (!first && since < SPACING_NS)
        return true;
    sampler->user_seen = user;
    sampler->ticks = 0;
    if (first)
        return true;
    sampler->spacing_ns = spacing > sampler->tick_ns ? spacing : sampler->tick_ns;
    sampler->late = spacing >= SPACING_LATE * sampler->tick_ns ? sampler->late + 1 : 0;
    if (sampler->late < LATE_LOOKS)
        return true;
    sampler->late = 0;
    tick_stop(self);
    bool ticks = tick_start(self, sampler->tick_ns * 3, false, signals_tick()); /* twice: it takes two thirds */
    sampler->spacing_ns = spacing;
    return ticks;
}

/* The bursts that there would have been since the last one, had the budget allowed what was asked for. */
static void count_missed(struct agent_thread *self)
{
    uint64_t wanted = agent_region->config.tick_ns, period = self->sampler.period_ns;
    if (period > wanted)
        count(&account_of(self)->lost[LOSS_TICK_BUDGET], (period - wanted + account_random(self) % wanted) / wanted);
}

bool pace_chooses(struct agent_thread *self)
{
    struct sampler_thread *sampler = &self->sampler;
    if (sampler->has_timer) { /* one shot each: every tick is chosen, the spacing is random */
        uint64_t next = sampler->period_ns / 2 + account_random(self) % (sampler->period_ns + 1);
        if (!attach_is_restricted() && !tick_rearm(self, next))
            account_no_tick(self); /* a filter that was installed past libc */
        count_missed(self);
        return true;
    }
    if (account_random(self) % sampler->period_ns >= sampler->spacing_ns)
        return false;
    count_missed(self);
    return true;
}
