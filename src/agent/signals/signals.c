/* agent/signals/signals.c - see signals.h. All but signals_start, signals_retake, signals_exec_* and sampler_sigaction runs in handlers. */
#include "agent/signals/signals.h"
#include "agent/signals/alternate.h"
#include "agent/signals/aside.h"
#include "agent/signals/mask.h"
#include "agent/real.h"
#include "agent/sampling/sampler.h"
#include "agent/self.h"
#include "agent/sampling/step.h"
#include "base/sys.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

enum { HELD_TRAP = 4, HELD_TICK, HELD_FORMER, HELD_COUNT, KERNEL_SET_BYTES = 8 };

/* The disposition of one signal. Writers hold `dispositions_lock` with all signals blocked and make `sequence` odd while they write;
 * readers, which may be handlers, copy and compare `sequence`. */
struct disposition {
    _Atomic uint32_t sequence;
    struct sigaction action;
};

/* HELD_FORMER: by which ticks came before signals_move_ticks(); 0: none did. */
static volatile int held_signals[HELD_COUNT] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP};
static struct disposition dispositions[HELD_COUNT];
AGENT_FORKED static _Atomic uint32_t dispositions_lock;
AGENT_FORKED static _Atomic int holding_pid; /* of the process whose signals are held; 0: none */
AGENT_FORKED static _Atomic uint32_t next_check;

static bool is_holding(void)
{
    return atomic_load(&holding_pid) != 0;
}

static int held_index(int signal)
{
    for (int i = 0; i < HELD_COUNT; i++)
        if (held_signals[i] == signal && signal)
            return i;
    return -1;
}

/* Ticks and steps come by these: their handler must not be interrupted by anything but its own faults. */
static bool carries_ticks(int index)
{
    return index >= HELD_TRAP;
}

static bool is_function(const struct sigaction *action)
{
    return action->sa_handler != SIG_DFL && action->sa_handler != SIG_IGN;
}

static uint64_t block_all(void)
{
    uint64_t all = ~0ull, old = 0;
    sys_call(SYS_rt_sigprocmask, SIG_SETMASK, &all, &old, KERNEL_SET_BYTES);
    return old;
}

static void restore_mask(uint64_t mask)
{
    sys_call(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, KERNEL_SET_BYTES);
}

uint64_t signals_lock(void)
{
    uint64_t mask = block_all();
    while (atomic_exchange_explicit(&dispositions_lock, 1, memory_order_acquire))
        ; /* held for some hundred nanoseconds, by a thread that cannot be interrupted */
    return mask;
}

void signals_unlock(uint64_t mask)
{
    atomic_store_explicit(&dispositions_lock, 0, memory_order_release);
    restore_mask(mask);
}

static void write_disposition(int index, const struct sigaction *action)
{
    struct disposition *disposition = &dispositions[index];
    atomic_fetch_add(&disposition->sequence, 1);
    disposition->action = *action;
    atomic_fetch_add(&disposition->sequence, 1);
}

static struct sigaction read_disposition(int index)
{
    struct disposition *disposition = &dispositions[index];
    struct sigaction copy;
    uint32_t before, after;
    do {
        before = atomic_load(&disposition->sequence);
        copy = disposition->action;
        atomic_thread_fence(memory_order_acquire);
        after = atomic_load(&disposition->sequence);
    } while (before != after || before & 1);
    return copy;
}

typedef void handler_fn(int signal, siginfo_t *info, void *context);

/* A signal on its way: what came, and then which handler of the program is to be called with what. */
struct arrival {
    int signal;
    siginfo_t *info;
    ucontext_t *context;
    handler_fn *next; /* or NULL: the signal was the agent's, or has been handled */
    bool other_mask;  /* the kernel did not set the mask that the program's handler is to run under */
};

static void on_signal(int signal, siginfo_t *info, void *frame);
static void pass_on(struct arrival *arrival);

static void fill_mask(sigset_t *mask);

/* A signal that was sent may interrupt a tick's handler, which blocks all but these. The program's own handler would run under that
 * mask and on that stack: so it is blocked until the tick's handler returns, and sent again to be delivered then. */
static bool wait_for_tick_end(const struct arrival *arrival)
{
    sigset_t full;
    uint64_t blocked, ticks;
    fill_mask(&full);
    memcpy(&ticks, &full, sizeof ticks);
    memcpy(&blocked, &arrival->context->uc_sigmask, sizeof blocked);
    ticks &= ~(1ull << (SIGKILL - 1) | 1ull << (SIGSTOP - 1)); /* the kernel does not block these */
    if (arrival->info->si_code > 0 || carries_ticks(held_index(arrival->signal)) || (blocked & ticks) != ticks ||
        sys_restricted)
        return false;
    sigaddset(&arrival->context->uc_sigmask, arrival->signal);
    sys_call(SYS_rt_tgsigqueueinfo, sys_call(SYS_getpid), sys_call(SYS_gettid), arrival->signal, arrival->info);
    return true;
}

static void arrive(void *argument)
{
    struct arrival *arrival = argument;
    if (!sampler_signal(arrival->signal, arrival->info, arrival->context) && !wait_for_tick_end(arrival))
        pass_on(arrival);
}

/* Where to handle a signal: the top of a stack of the agent's, or NULL: here. Ticks, whose handler runs under a full mask,
 * have one. Faults, which may come in the middle of a tick's handler, have a second one when they need it and their mask
 * is full too: a handler that leaves the alternate stack is not seen to be on it, and the next signal would overwrite its
 * frame. For the same reason nobody leaves an alternate stack that is large enough. */
static void *own_stack(int index, const ucontext_t *context)
{
    const struct agent_thread *self = self_in_handler();
    uint64_t sp = (uint64_t)__builtin_frame_address(0);
    const stack_t *alternate = &context->uc_stack;
    bool on_alternate = !(alternate->ss_flags & SS_DISABLE) && sp - (uint64_t)alternate->ss_sp < alternate->ss_size;
    if (!self || self_is_inside(self, sp))
        return NULL;
    if (alternate_is_small())
        return self_stack(self, carries_ticks(index) ? 0 : 1);
    return carries_ticks(index) && !on_alternate ? self_stack(self, 0) : NULL;
}

struct call { /* of a handler of the program; small enough to be returned in registers */
    handler_fn *next;
    ucontext_t *context;
};

static __attribute__((noinline)) struct call handle(int signal, siginfo_t *info, ucontext_t *context)
{
    /* A fault makes the kernel (6.18 and before) deliver a pending SIGTRAP too, even a blocked one, and before it: the
     * fault then seems to come from the first instruction of on_signal. It came from where the SIGTRAP's context says;
     * that handler runs when this one is done, and changes made to its context last. */
    ucontext_t *beneath = info->si_code > 0 ? step_entered(context, (uint64_t)on_signal, SIGTRAP) : NULL;
    struct arrival arrival = {
        .signal = signal, .info = info, .context = beneath ? beneath : context, .other_mask = beneath != NULL};
    void *stack = own_stack(held_index(signal), context);
    if (stack)
        aside_call(stack, arrive, &arrival);
    else
        arrive(&arrival);
    return (struct call){arrival.next, arrival.context};
}

static void on_signal(int signal, siginfo_t *info, void *frame)
{
    struct call call = handle(signal, info, frame);
    if (call.next)
        call.next(signal, info, call.context); /* a jump: the program's handler has all of the stack */
}

/* Nothing interrupts but the faults of the handler itself. */
static void fill_mask(sigset_t *mask)
{
    sigfillset(mask);
    for (int i = 0; i < HELD_COUNT; i++)
        if (!carries_ticks(i))
            sigdelset(mask, held_signals[i]);
}

/* What the kernel gets: our handler, under the program's mask and flags. Call with the lock held. A tick goes to the
 * alternate stack for those whose own stacks are small (coroutines), unless there is no room either. */
static int report_kernel(int index)
{
    const struct sigaction *disposition = &dispositions[index].action;
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART};
    if (is_function(disposition))
        action.sa_flags = SA_SIGINFO | (disposition->sa_flags & (SA_ONSTACK | SA_NODEFER | SA_RESTART));
    if (alternate_is_small() && (carries_ticks(index) || !is_function(disposition) || alternate_is_useless()))
        action.sa_flags &= ~SA_ONSTACK;
    if (carries_ticks(index) || alternate_is_small()) {
        action.sa_flags &= ~SA_NODEFER;
        fill_mask(&action.sa_mask);
    } else if (is_function(disposition)) {
        action.sa_mask = disposition->sa_mask;
    }
    return real.sigaction(held_signals[index], &action, NULL);
}

static bool is_held(int index)
{
    struct sigaction now;
    return real.sigaction(held_signals[index], NULL, &now) == 0 && now.sa_sigaction == on_signal;
}

void signals_renew(void)
{
    if (!is_holding() || !signals_is_own_process())
        return;
    uint64_t mask = signals_lock();
    for (int i = 0; i < HELD_COUNT; i++)
        if (held_signals[i] && is_held(i))
            report_kernel(i);
    signals_unlock(mask);
}

bool signals_is_held(int signal)
{
    return held_index(signal) >= 0;
}

static int other_tick(int signal)
{
    return signal == SIGURG ? SIGWINCH : SIGURG;
}

/* SIGURG, which nobody sends unasked; else SIGWINCH, which comes from terminals and would then interrupt poll() and its like. */
static int choose_tick(void)
{
    struct sigaction now;
    uint64_t blocked = 0;
    sys_call(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &blocked, KERNEL_SET_BYTES);
    bool taken = real.sigaction(SIGURG, NULL, &now) == 0 && is_function(&now);
    return taken || blocked & 1ull << (SIGURG - 1) ? SIGWINCH : SIGURG;
}

/* Takes one signal; what was set is the program's. Call with the lock held. */
static bool take_signal(int index)
{
    struct sigaction now;
    if (!held_signals[index])
        return true;
    if (real.sigaction(held_signals[index], NULL, &now) != 0)
        return false;
    if (now.sa_sigaction == on_signal)
        return true;
    write_disposition(index, &now);
    return report_kernel(index) == 0;
}

bool signals_start(void)
{
    if (is_holding())
        return signals_held();
    real_need();
    held_signals[HELD_TICK] = choose_tick();
    bool good = true;
    uint64_t mask = signals_lock();
    for (int i = 0; i < HELD_COUNT && good; i++)
        good = take_signal(i);
    atomic_store(&holding_pid, good ? (int)sys_call(SYS_getpid) : 0);
    signals_unlock(mask);
    if (good && !(agent_region->config.flags & WIRE_JOINED))
        alternate_begin(); /* a program without hooks would see it */
    return good;
}

bool signals_retake(void)
{
    bool good = true;
    uint64_t mask = signals_lock();
    for (int i = 0; i < HELD_COUNT && good; i++)
        good = take_signal(i);
    signals_unlock(mask);
    return good;
}

bool signals_move_ticks(const sigset_t *wanted)
{
    int former = signals_tick(), next = other_tick(former);
    if (!sigismember(wanted, former) || sigismember(wanted, next) || held_signals[HELD_FORMER] ||
        !signals_is_own_process())
        return false;
    uint64_t mask = signals_lock();
    bool moved = held_signals[HELD_FORMER], good = moved; /* by another thread meanwhile */
    if (!moved) {
        write_disposition(HELD_FORMER, &dispositions[HELD_TICK].action);
        held_signals[HELD_FORMER] = former;
        held_signals[HELD_TICK] = next; /* from here on the former is found in its new place */
        good = take_signal(HELD_TICK);
    }
    signals_unlock(mask);
    return good;
}

void signals_forked(void)
{
    atomic_store(&dispositions_lock, 0);
    for (int i = 0; i < HELD_COUNT; i++)
        if (atomic_load(&dispositions[i].sequence) & 1) /* by a thread that the child does not have */
            atomic_fetch_add(&dispositions[i].sequence, 1);
    if (is_holding())
        atomic_store(&holding_pid, (int)sys_call(SYS_getpid));
}

bool signals_is_own_process(void)
{
    return (int)sys_call(SYS_getpid) == atomic_load(&holding_pid);
}

bool signals_held(void)
{
    /* SIGSEGV matters most: checked every time, the others one after the other */
    int other = 1 + (int)(atomic_fetch_add_explicit(&next_check, 1, memory_order_relaxed) % HELD_TRAP);
    return is_held(0) && is_held(other);
}

bool signals_take_faults(void)
{
    uint64_t blocked = ~0ull;
    sys_call(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &blocked, KERNEL_SET_BYTES);
    return !(blocked & (1ull << (SIGSEGV - 1) | 1ull << (SIGBUS - 1))) && is_held(0) && is_held(1);
}

int signals_tick(void)
{
    return held_signals[HELD_TICK];
}

uint64_t signals_tick_bits(void)
{
    uint64_t bits = 0;
    for (int i = HELD_TRAP; i < HELD_COUNT; i++)
        bits |= held_signals[i] ? 1ull << (held_signals[i] - 1) : 0;
    return bits;
}

void signals_drop_ticks(const struct agent_thread *self)
{
    uint64_t ticks = signals_tick_bits();
    siginfo_t info;
    struct timespec none = {0};
    for (int i = HELD_TRAP; i < HELD_COUNT; i++) {
        int signal = (int)sys_call(SYS_rt_sigtimedwait, &ticks, &info, &none, KERNEL_SET_BYTES);
        if (signal <= 0)
            return;
        if (!sampler_is_tick(&info)) /* the program's: give it back */
            sys_call(SYS_rt_tgsigqueueinfo, self->pid, self->tid, signal, &info);
    }
}

/* Without a system call, in a program that has restricted itself: a fault that happens again while its signal is blocked
 * kills, whatever the handler is. False for signals that were sent. */
static bool force_default(int signal, const siginfo_t *info, ucontext_t *context)
{
    if (info->si_code <= 0 || (signal == SIGTRAP && !step_back_to_trap(context)))
        return false;
    sigaddset(&context->uc_sigmask, signal);
    return true;
}

/* Lets the signal kill (or whatever the default is): a fault by happening again, anything else by being sent again. */
static void let_default_happen(int signal, siginfo_t *info, ucontext_t *context)
{
    if (sys_restricted && force_default(signal, info, context))
        return;
    if (held_index(signal) >= HELD_TICK) /* whose default is to be ignored */
        return;
    struct sigaction action = {.sa_handler = SIG_DFL};
    real.sigaction(signal, &action, NULL);
    if (signal != SIGTRAP && info->si_code > 0)
        return;
    /* Even if a filter forbids that, which kills as well: a signal must not be swallowed. */
    long pid = sys_call_asked(SYS_getpid), tid = sys_call_asked(SYS_gettid);
    sys_call_asked(SYS_rt_tgsigqueueinfo, pid, tid, signal, info);
}

/* A handler that is to be called once: true for the one caller that may. */
static bool take_once(int index, const struct sigaction *seen)
{
    uint64_t mask = signals_lock();
    bool mine = dispositions[index].action.sa_handler == seen->sa_handler;
    if (mine) {
        struct sigaction reset = *seen;
        reset.sa_handler = SIG_DFL;
        reset.sa_flags &= ~SA_SIGINFO;
        write_disposition(index, &reset);
        if (!sys_restricted)
            report_kernel(index);
    }
    signals_unlock(mask);
    return mine;
}

/* Gives a signal that came to the agent to the program. */
static void pass_on(struct arrival *arrival)
{
    int signal = arrival->signal, index = held_index(signal);
    siginfo_t *info = arrival->info;
    ucontext_t *context = arrival->context;
    struct sigaction disposition = read_disposition(index);
    bool sent = info->si_code <= 0;
    if (disposition.sa_handler == SIG_IGN && sent)
        return;
    if (is_function(&disposition) && disposition.sa_flags & SA_RESETHAND && !take_once(index, &disposition))
        disposition.sa_handler = SIG_DFL;
    if (!is_function(&disposition)) {
        int saved = errno;
        let_default_happen(signal, info, context);
        errno = saved;
        return;
    }
    if (arrival->other_mask || carries_ticks(index) || alternate_is_small()) {
        uint64_t mask, program;
        memcpy(&mask, &context->uc_sigmask, sizeof(mask));
        memcpy(&program, &disposition.sa_mask, sizeof(program));
        mask |= program;
        if (!(disposition.sa_flags & SA_NODEFER))
            mask |= 1ull << (signal - 1);
        if (disposition.sa_flags & SA_ONSTACK && alternate_is_small())
            mask |= signals_tick_bits();
        restore_mask(mask);
    }
    arrival->next = disposition.sa_sigaction;
}

bool sampler_sigaction(int signal, const struct sigaction *wanted, struct sigaction *old, int *result)
{
    int index = held_index(signal);
    if (index < 0 || !is_holding())
        return false;
    struct sigaction previous, next;
    if (wanted) {
        next = *wanted; /* before the lock: the pointer may be bad */
        sigdelset(&next.sa_mask, SIGKILL);
        sigdelset(&next.sa_mask, SIGSTOP);
    }
    /* the child of a vfork shares this memory but has signals of its own */
    bool borrowed = !sys_restricted && !signals_is_own_process();
    if (wanted && index == HELD_TICK && is_function(&next)) {
        sigset_t taken;
        sigemptyset(&taken);
        sigaddset(&taken, signal);
        sampler_clear_ticks(&taken);
        index = held_index(signal);
    }
    uint64_t mask = signals_lock();
    previous = dispositions[index].action;
    if (wanted && !borrowed) {
        write_disposition(index, &next);
        report_kernel(index);
    }
    signals_unlock(mask);
    *result = wanted && borrowed ? real.sigaction(signal, wanted, NULL) : 0;
    if (old)
        *old = previous;
    return true;
}

void signals_give_back(struct agent_thread *self)
{
    if (!is_holding())
        return;
    uint64_t hidden = mask_hidden(self), mask = block_all();
    signals_drop_ticks(self);
    for (int i = 0; i < HELD_COUNT; i++)
        if (held_signals[i])
            real.sigaction(held_signals[i], &dispositions[i].action, NULL);
    atomic_store(&holding_pid, 0);
    restore_mask(mask | hidden);
    self->sampler.hidden = 0;
}

void signals_exec_begin(void)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    for (int i = 0; i < HELD_COUNT && is_holding(); i++)
        if (read_disposition(i).sa_handler == SIG_IGN)
            real.sigaction(held_signals[i], &ignore, NULL);
}

void signals_exec_failed(void)
{
    if (!is_holding())
        return;
    uint64_t mask = signals_lock();
    for (int i = 0; i < HELD_COUNT; i++)
        if (dispositions[i].action.sa_handler == SIG_IGN)
            report_kernel(i);
    signals_unlock(mask);
}
