/* agent/signals/mask.c - see mask.h. `hidden` is written by its own thread, and by handlers that the program runs there. */
#include "agent/signals/mask.h"

#include "agent/signals/alternate.h"
#include "agent/sampling/sampler.h"
#include "agent/signals/signals.h"
#include "base/sys.h"

#include <string.h>

/* libc's own signals, which no program may block. */
enum { SIGCANCEL = 32, SIGSETXID = 33 };

static uint64_t to_bits(const sigset_t *set)
{
    uint64_t bits;
    memcpy(&bits, set, sizeof(bits));
    return bits;
}

static uint64_t bit_of(int signal)
{
    return 1ull << (signal - 1);
}

/* The signal of ticks, where a thread or one that it starts may get one; else nothing. */
static uint64_t tick_bit(const struct agent_thread *self)
{
    return sampler_is_active() || self->sampler.has_timer ? bit_of(signals_tick()) : 0;
}

/* What a sampled thread needs open. */
static uint64_t needed(const struct agent_thread *self)
{
    return bit_of(SIGSEGV) | bit_of(SIGBUS) | bit_of(SIGILL) | bit_of(SIGFPE) | bit_of(SIGTRAP) | tick_bit(self);
}

static long kernel_mask(int how, const uint64_t *set, uint64_t *old)
{
    return sys_call_asked(SYS_rt_sigprocmask, how, set, old, sizeof(*set));
}

/* A mask that the program sets past libc is what it says, as is that of a handler in sigsuspend(): then something is open that was
 * blocked beside the hidden. Go starts each thread with all blocked, by libc, and opens them by a system call of its own. */
static uint64_t hidden_under(const struct agent_thread *self, uint64_t kernel)
{
    return (kernel & self->sampler.shown) == self->sampler.shown ? self->sampler.hidden : 0;
}

/* Ticks that are blocked because a handler of the program runs which may be on an alternate stack (agent/signals/alternate.h): the
 * program has not asked for that, unless it blocks everything. */
static uint64_t blocked_by_us(const struct agent_thread *self, uint64_t kernel)
{
    enum { NEARLY_ALL = 58 };
    if (!alternate_is_small() || !signals_tick() || self->asked_ticks || __builtin_popcountll(kernel) >= NEARLY_ALL)
        return 0;
    uint64_t ticks = signals_tick_bits();
    return (kernel & ticks) == ticks ? ticks : 0;
}

int mask_change(struct agent_thread *self, int how, const sigset_t *set, sigset_t *old)
{
    uint64_t need = needed(self), kernel = 0, wanted = set ? to_bits(set) : 0;
    long result = kernel_mask(how, NULL, &kernel);
    uint64_t added = blocked_by_us(self, kernel), hidden = hidden_under(self, kernel);
    kernel &= ~added;
    if (result == 0 && set) {
        if (how != SIG_BLOCK && how != SIG_UNBLOCK && how != SIG_SETMASK)
            return EINVAL;
        wanted &= ~(bit_of(SIGCANCEL) | bit_of(SIGSETXID)); /* libc's own, as libc does it */
        wanted &= ~(bit_of(SIGKILL) | bit_of(SIGSTOP));     /* as the kernel does */
        uint64_t believed = kernel | hidden;
        uint64_t next = how == SIG_BLOCK     ? believed | wanted
                        : how == SIG_UNBLOCK ? believed & ~wanted
                                             : wanted | (believed & (bit_of(SIGCANCEL) | bit_of(SIGSETXID)));
        /* What the kernel blocks already (a signal that waits) stays so. A program that handles faults leaves theirs open and
         * blocks the rest, the ticks' with it. */
        bool may_hide = sampler_is_active() && signals_is_own_process();
        uint64_t blocked = (next & need) == need ? need : next & tick_bit(self);
        uint64_t hide = may_hide ? blocked & ~kernel : 0;
        uint64_t shown = (next & ~hide) | added;
        self->asked_ticks = next & signals_tick_bits();
        self->sampler.shown &= shown;
        self->sampler.hidden = hidden | hide; /* a signal that comes in between finds both */
        result = kernel_mask(SIG_SETMASK, &shown, NULL);
        self->sampler.hidden = hide;
        if (hide != hidden) /* else a handler's change may end with it */
            self->sampler.shown = shown & ~added;
    }
    if (result != 0)
        return (int)-result;
    if (old) {
        uint64_t before = kernel | hidden;
        sigemptyset(old);
        memcpy(old, &before, sizeof(before));
    }
    return 0;
}

void mask_show(struct agent_thread *self, int signal)
{
    uint64_t bit = mask_hidden(self) & bit_of(signal);
    if (bit)
        kernel_mask(SIG_BLOCK, &bit, NULL);
    self->sampler.hidden &= ~bit;
}

bool mask_hides(const struct agent_thread *self, int signal, const sigset_t *blocked)
{
    return hidden_under(self, to_bits(blocked)) & bit_of(signal);
}

uint64_t mask_hidden(const struct agent_thread *self)
{
    uint64_t kernel = 0;
    return self && self->sampler.hidden && kernel_mask(SIG_BLOCK, NULL, &kernel) == 0 ? hidden_under(self, kernel) : 0;
}

void mask_inherit(struct agent_thread *self, uint64_t hidden)
{
    self->sampler.shown = 0;
    if (hidden)
        kernel_mask(SIG_BLOCK, NULL, &self->sampler.shown);
    self->sampler.hidden = hidden;
}

void mask_exec_begin(struct agent_thread *self)
{
    self->sampler.hidden = mask_hidden(self);
    if (self->sampler.hidden)
        kernel_mask(SIG_BLOCK, &self->sampler.hidden, NULL);
}

void mask_exec_failed(struct agent_thread *self)
{
    if (self->sampler.hidden)
        kernel_mask(SIG_UNBLOCK, &self->sampler.hidden, NULL);
}
