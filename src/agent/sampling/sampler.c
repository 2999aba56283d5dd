/* agent/sampling/sampler.c - what starts a burst and what is kept of it; pace.c has how often.
 *
 * From sampler_signal down everything runs in handlers: no locks, no allocation, errno kept. */
#include "agent/sampling/sampler.h"
#include "agent/sampling/armed.h"
#include "agent/region/attach.h"
#include "agent/signals/mask.h"
#include "agent/region/thread_ring.h"
#include "agent/self.h"
#include "agent/signals/signals.h"
#include "agent/unwind/stack.h"
#include "agent/sampling/step.h"
#include "base/sys.h"
#include "agent/process/thread.h"
#include "agent/sampling/tick.h"
#include "agent/sampling/account.h"
#include "agent/sampling/long_burst.h"
#include "agent/sampling/pace.h"

#include <stdatomic.h>

enum {
    IDLE_TICKS = 64, /* in vain, before a tick ends that can be asked for again */
    SPREAD = 64,     /* fewer accesses are skipped before the first that is kept (docs/sampling.md); */
    NEAREST = 3,     /* that bursts begin, as a power of two; */
    NEARER_FOR = 32, /* one burst in so many goes back by one */
};

volatile bool agent_device_mapped;

/* Set by sampler_start; cleared in any thread or handler that finds that sampling must end. */
AGENT_FORKED static volatile bool sampling;

bool sampler_start(bool forked)
{
    struct agent_thread *self = thread_self();
    const struct wire_config *config = &agent_region->config;
    if (forked) {
        tick_forget(self);
        step_forget(self);
        long_forget();
        self->sampler.ready = false;
        self->sampler.bursting = false;
        self->sampler.refused = false;
    }
    sampling = false;
    if (!(config->flags & (WIRE_SAMPLE_LOADS | WIRE_SAMPLE_STORES)) || config->tick_ns == 0 || config->burst == 0)
        return false;
    sampling = forked ? signals_start() : sampler_join();
    if (!sampling)
        return false;
    if (forked)
        long_start();
    sampler_thread_start(self);
    return self->sampler.ready;
}

bool sampler_join(void)
{
    pace_learn_counter();
    step_start();
    sampling = signals_start();
    if (sampling)
        long_start();
    return sampling;
}

bool sampler_rejoin(void)
{
    sampling = signals_retake();
    return sampling;
}

void sampler_stop(void)
{
    sampling = false;
    long_stop();
    sampler_thread_stop(thread_self());
}

void sampler_thread_start(struct agent_thread *self)
{
    struct sampler_thread *sampler = &self->sampler;
    if (!sampling || !agent_region || sampler->ready || attach_is_restricted())
        return;
    if (!step_thread_start(self)) {
        account_no_tick(self);
        return;
    }
    const struct wire_config *config = &agent_region->config;
    int saved = errno;
    sampler->random = (wire_counter() * 0x9e3779b97f4a7c15u ^ (uint64_t)self) | 1;
    sampler->ready = true;
    if (!pace_start(self)) {
        sampler->ready = false;
        step_thread_stop(self);
        account_no_tick(self);
    } else if (config->flags & WIRE_JOINED) {
        sampler->idle = 0;
        armed_add(self->tid, config->tick_ns);
    }
    if (sampler->ready)
        sampler->period_ns = pace_period(sampler);
    errno = saved;
}

/* Ends the tick and keeps the rest: it may soon be wanted again. */
static void disarm(struct agent_thread *self)
{
    if (agent_region->config.flags & WIRE_JOINED) {
        self->sampler.ready = false;
        armed_remove(self->tid);
    }
    tick_stop(self);
}

void sampler_arm(struct agent_thread *self)
{
    if (self->ended)
        return; /* called too late: nothing of it is lost */
    if (self->sampler.ready && armed_tick(self->tid) != agent_region->config.tick_ns)
        disarm(self);
    if (sampling && agent_switch.live && thread_ready(self, true))
        sampler_thread_start(self);
}

void sampler_thread_stop(struct agent_thread *self)
{
    int saved = errno;
    if (self->sampler.ready && agent_region->config.flags & WIRE_JOINED)
        armed_remove(self->tid);
    self->sampler.ready = false; /* a tick that comes from here on finds nothing to do */
    tick_stop(self);
    long_thread_stop(self);
    step_thread_stop(self);
    errno = saved;
}

bool sampler_is_active(void)
{
    return sampling;
}

bool sampler_is_tick(const siginfo_t *info)
{
    return tick_is(thread_self(), info) || long_is_resume(info);
}

/* Ticks that come by a signal which the program wants for itself come by another. */
static void renew_tick(struct agent_thread *self)
{
    struct sampler_thread *sampler = &self->sampler;
    if (!sampler->ready)
        return;
    sampler->ready = false;
    tick_stop(self);
    if (pace_start(self))
        sampler->period_ns = pace_period(sampler);
    else
        account_no_tick(self);
    sampler->ready = true;
}

void sampler_clear_ticks(sigset_t *set)
{
    struct agent_thread *self = thread_self();
    int former = signals_tick();
    if (!sampling || !sigismember(set, former))
        return;
    if (!signals_move_ticks(set)) {
        sigdelset(set, former);
        return;
    }
    if (!self)
        return;
    self->inside++;
    renew_tick(self); /* other threads do so at their next */
    mask_show(self, former);
    signals_drop_ticks(self);
    self->inside--;
}

static bool is_own_thread(const struct agent_thread *self)
{
    return (uint32_t)sys_call(SYS_gettid) == self->tid; /* not so in the child of a vfork */
}

void sampler_exec_begin(struct agent_thread *self)
{
    int saved = errno;
    if (self->sampler.ready && !attach_is_restricted() && is_own_thread(self)) {
        sampler_thread_stop(self);
        uint64_t set = signals_tick_bits(), blocked = 0;
        sys_call(SYS_rt_sigprocmask, SIG_BLOCK, &set, &blocked, sizeof(set));
        signals_drop_ticks(self);
        sys_call(SYS_rt_sigprocmask, SIG_SETMASK, &blocked, NULL, sizeof(blocked));
    }
    mask_exec_begin(self);
    signals_exec_begin();
    errno = saved;
}

void sampler_exec_failed(struct agent_thread *self)
{
    int saved = errno;
    signals_exec_failed();
    mask_exec_failed(self);
    if (sampling && is_own_thread(self))
        sampler_thread_start(self);
    errno = saved;
}

struct chain_walk {
    struct agent_thread *self;
    struct unwind_regs regs;
    uint32_t stack;
};

static void number_chain(void *argument)
{
    struct chain_walk *chain = argument;
    chain->stack = stack_number(chain->self, &chain->regs, false, false);
}

static void send_sample(struct agent_thread *self, const ucontext_t *context, const struct step_access *access)
{
    uint32_t latency = 0, threshold = agent_region->config.latency_threshold;
    bool measured = access->flags & SAMPLE_READ && pace_time_load(access->addr, &latency);
    if (threshold && access->flags & SAMPLE_READ && (!measured || latency < threshold))
        return;
    /* guarded: the stack pointer may have left the stack, in an overflow or in somebody's coroutine */
    struct chain_walk chain = {.self = self};
    step_unwind_regs(context, &chain.regs);
    if (!step_guarded(self, number_chain, &chain))
        chain.stack = 0;
    if (!(agent_region->config.flags & WIRE_COUNTER_IS_CPU) || ring_rseq_cpu() < 0)
        agent_calls_out(self); /* time or CPU come from libc */
    const uint32_t words = sizeof(struct wire_sample) / 8;
    struct wire_sample *sample = agent_reserve(self, words, LOSS_SAMPLE_FULL, false);
    if (!sample)
        return;
    *sample = (struct wire_sample){
        .head = {.type = WIRE_SAMPLE, .words = (uint8_t)words, .cpu = agent_cpu(), .value = chain.stack},
        .time = agent_time(),
        .addr = access->addr,
        .latency = measured ? latency : 0,
        .size = access->size,
        .flags = (uint8_t)(access->flags | (measured ? SAMPLE_HAS_LATENCY : 0) |
                           (self->sampler.kept == 0 ? SAMPLE_FIRST : 0)),
    };
    agent_commit(self, words);
}

bool burst_access(struct agent_thread *self, const ucontext_t *context, const struct step_access *access)
{
    struct sampler_thread *sampler = &self->sampler;
    uint32_t flags = agent_region->config.flags;
    bool wanted = (access->flags & SAMPLE_READ && flags & WIRE_SAMPLE_LOADS) ||
                  (access->flags & SAMPLE_WRITE && flags & WIRE_SAMPLE_STORES);
    if (sampler->stop)
        return false;
    sampler->seen++;
    if (!wanted)
        return true;
    if (sampler->skip > 0) {
        sampler->skip--;
        return true;
    }
    int saved = errno;
    send_sample(self, context, access);
    errno = saved;
    sampler->kept++;
    return --sampler->remaining > 0;
}

static void end_burst(struct agent_thread *self)
{
    struct sampler_thread *sampler = &self->sampler;
    struct wire_counters *counters = account_of(self);
    count(&counters->steps, sampler->steps);
    count(&counters->accesses, sampler->seen);
    if (sampler->stopped_at)
        wire_stop_count(agent_region, sampler->stopped_at);
    if (sampler->steps == 0 && sampler->kept == 0)
        account_loss(self, LOSS_TICK_UNSTEPPED);
    else if (sampler->kept == 0)
        account_loss(self, LOSS_TICK_NO_ACCESS);
    /* Near calls of malloc, of the kernel: a place from which it is not far to the next one must not have fewer samples. */
    if (sampler->skip > 0 && sampler->nearer < NEAREST)
        sampler->nearer++;
    else if (sampler->nearer > 0 && account_random(self) % NEARER_FOR == 0)
        sampler->nearer--;
    sampler->bursting = false;
    pace_learn_cost(self);
    sampler->period_ns = pace_period(sampler);
}

/* Runs where step_apart put it; the context is the one that the thread will go on with. */
static void run_burst(struct agent_thread *self, ucontext_t *context)
{
    /* errno is not kept here: where the burst carries the program's instructions out, they may set it. */
    struct sampler_thread *sampler = &self->sampler;
    self->inside++;
    sampler->bursting = true;
    sampler->stop = false;
    sampler->remaining = agent_region->config.burst;
    sampler->skip = (uint32_t)(account_random(self) % (SPREAD >> sampler->nearer));
    sampler->steps = sampler->seen = sampler->kept = sampler->stopped_at = 0;
    count(&account_of(self)->bursts, 1);
    step_burst(self, context);
    end_burst(self);
    self->inside--;
}

static bool masks_faults(const ucontext_t *context)
{
    const sigset_t *mask = &context->uc_sigmask;
    return sigismember(mask, SIGSEGV) || sigismember(mask, SIGBUS) || sigismember(mask, SIGILL) ||
           sigismember(mask, SIGFPE);
}

/* Whether another signal is to be delivered at this very place. A timer's tick may come at the end of a system call by
 * which the thread sent itself a signal: it must get that before its next instruction, not after a burst. A perf tick
 * never comes there. */
static bool has_pending(const siginfo_t *info, const ucontext_t *context)
{
    uint64_t pending = 0, blocked;
    if (info->si_code != SI_TIMER || attach_is_restricted())
        return false;
    blocked = context->uc_sigmask.__val[0];
    sys_call(SYS_rt_sigpending, &pending, sizeof(pending));
    return pending & ~blocked;
}

/* A fault's frame goes to the alternate stack, where a handler of the program may be at work right now. */
static bool on_alternate_stack(const ucontext_t *context, uint64_t sp)
{
    const stack_t *stack = &context->uc_stack;
    return !(stack->ss_flags & SS_DISABLE) && sp - (uint64_t)stack->ss_sp < stack->ss_size;
}

/* Has `work` done where it may be; else says why it was not, and false. */
static bool start_apart(struct agent_thread *self, siginfo_t *info, ucontext_t *context,
                        void (*work)(struct agent_thread *self, ucontext_t *context))
{
    struct unwind_regs regs;
    step_unwind_regs(context, &regs);
    if (self->inside > 0 || has_pending(info, context)) {
        account_loss(self, LOSS_TICK_BUSY);
    } else if (!self->producer.ring) {
        account_loss(self, self->ended ? LOSS_THREAD_ENDED : LOSS_NO_RING); /* a handler does not claim one */
    } else if (masks_faults(context) || on_alternate_stack(context, regs.sp)) {
        account_loss(self, LOSS_TICK_MASKED);
    } else if (!attach_is_restricted() && !signals_held()) {
        sampling = false; /* the program took a signal behind our back: faults would no longer come to us */
        disarm(self);
    } else if (step_apart(self, info, context, work)) {
        return true;
    } else {
        account_loss(self, LOSS_TICK_UNSTEPPED);
    }
    return false;
}

static void on_tick(struct agent_thread *self, int signal, siginfo_t *info, ucontext_t *context)
{
    if (!sampling || !self->sampler.ready) {
        if (self->sampler.ready && agent_region->config.flags & WIRE_JOINED)
            disarm(self); /* a timer's tick that is not set again is the last: let it be asked for again */
        return;
    }
    if (!agent_switch.live) {
        tick_stop(self);
        return;
    }
    if (signal != signals_tick()) {
        renew_tick(self);
        return;
    }
    self->sampler.began = wire_counter();
    self->sampler.context_switches = tick_context_switches(self);
    count(&account_of(self)->ticks, 1);
    count(&account_of(self)->handler_ns, pace_delivery_ns());
    if (!pace_learn_spacing(self)) {
        disarm(self);
        account_no_tick(self);
    }
    if (self->inside == 0) /* else a hook may be writing into the ring */
        long_send(self);
    /* A timer's tick that falls into a system call comes at its end, as does one that was blocked. Were it taken, what a program does
     * behind its calls would be sampled as often as all that the kernel does in them. */
    bool at_call = step_is_at_call(context);
    uint64_t since_ns = self->sampler.has_timer ? self->sampler.period_ns : self->sampler.spacing_ns;
    bool is_long = long_is_due(self, since_ns, at_call);
    bool chosen = (pace_chooses(self) && !at_call) || is_long; /* a timer is set again for the next */
    if (atomic_load_explicit(&agent_region->resting, memory_order_relaxed)) {
        if (agent_region->config.flags & WIRE_JOINED && ++self->sampler.idle > IDLE_TICKS)
            disarm(self);
        if (is_long)
            long_skip(self);
        return;
    }
    self->sampler.idle = 0;
    if (!chosen) {
        if (tick_context_switches(self) == self->sampler.context_switches)
            count(&account_of(self)->handler_ns, pace_to_ns(wire_counter() - self->sampler.began));
        return;
    }
    bool started = start_apart(self, info, context, is_long ? long_run : run_burst);
    if (is_long && !started)
        long_skip(self);
}

/* A signal from outside that must wait: it is blocked in the interrupted context and sent again. One that came in the
 * middle of a burst comes back when the burst is over, one that the program has blocked when it lifts that. */
static void postpone(struct agent_thread *self, int signal, siginfo_t *info, ucontext_t *context)
{
    self->sampler.stop = true;
    self->sampler.hidden &= ~(1ull << (signal - 1));
    sigaddset(&context->uc_sigmask, signal);
    if (info->si_code == SI_USER || info->si_code == SI_QUEUE) /* to the process: another thread may take it */
        sys_call(SYS_rt_sigqueueinfo, self->pid, signal, info);
    else
        sys_call(SYS_rt_tgsigqueueinfo, self->pid, self->tid, signal, info);
}

bool sampler_signal(int signal, siginfo_t *info, ucontext_t *context)
{
    struct agent_thread *self = self_in_handler();
    int saved = errno;
    if (!self && armed_is_call(info))
        self = self_make();
    if (!self)
        return tick_is(NULL, info) || armed_is_call(info);
    if (tick_is(self, info)) {
        on_tick(self, signal, info, context);
        errno = saved;
        return true;
    }
    if (armed_is_call(info)) {
        if (self->inside == 0) { /* else the recorder calls again */
            self->inside++;
            sampler_arm(self);
            self->inside--;
        }
        errno = saved;
        return true;
    }
    if (long_is_resume(info)) {
        if (long_resumes(self) && !(sampling && start_apart(self, info, context, long_run)))
            long_skip(self);
        errno = saved;
        return true;
    }
    bool sent = info->si_code <= 0;
    if (sent && (mask_hides(self, signal, &context->uc_sigmask) || (self->sampler.bursting && self->inside > 0))) {
        postpone(self, signal, info, context);
        errno = saved;
        return true;
    }
    if (sent || signal == SIGTRAP)
        return false;
    return step_fault(self, context, signal);
}
