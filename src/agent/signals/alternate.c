/* agent/signals/alternate.c - see alternate.h. */
#include "agent/signals/alternate.h"

#include "agent/real.h"
#include "agent/signals/signals.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/auxv.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

enum { LARGE = 24576 }; /* has room for a tick's handler with its frame, and for a fault in it */

/* Set once and never unset, by any thread that sets such a stack. */
static _Atomic bool is_small, is_useless;

/* By signal number: the ticks' signals that the program itself wants blocked in its handler. Guarded by signals_lock(). */
static uint64_t own_bits[NSIG];

/* What the kernel's frame of a signal takes, about, and at the least. Not AT_MINSIGSTKSZ: that counts registers which a
 * program has to ask for before it may use them. */
static size_t frame_bytes(void)
{
#if defined(__x86_64__)
    enum { FRAME = 512, ALIGNED = 64, COMPONENTS = 10 };
    unsigned size, offset, c, d;
    size_t registers = 512 + 64;
    for (unsigned i = 2; i < COMPONENTS; i++)
        if (__get_cpuid_count(0xd, i, &size, &offset, &c, &d) && size && !(c & 1) && offset + size > registers)
            registers = offset + size;
    return registers + FRAME + ALIGNED;
#else
    enum { MINIMUM = 51, LEAST = 4688 }; /* AT_MINSIGSTKSZ, newer than some libc's headers */
    size_t said = getauxval(MINIMUM);
    return said > LEAST ? said : LEAST;
#endif
}

void alternate_set(size_t size)
{
    if (size >= LARGE)
        return;
    bool useless = size < frame_bytes() && !atomic_exchange(&is_useless, true);
    bool first = !atomic_exchange(&is_small, true);
    if (first || useless)
        signals_renew();
    if (first)
        alternate_begin();
}

bool alternate_is_small(void)
{
    return atomic_load_explicit(&is_small, memory_order_relaxed);
}

bool alternate_is_useless(void)
{
    return atomic_load_explicit(&is_useless, memory_order_relaxed);
}

static uint64_t mask_of(const struct sigaction *action)
{
    uint64_t bits;
    memcpy(&bits, &action->sa_mask, sizeof bits);
    return bits;
}

static void set_mask(struct sigaction *action, uint64_t bits)
{
    memcpy(&action->sa_mask, &bits, sizeof bits);
}

static bool runs_there(const struct sigaction *action)
{
    return action->sa_flags & SA_ONSTACK && action->sa_handler != SIG_DFL && action->sa_handler != SIG_IGN;
}

int alternate_sigaction(int signal, const struct sigaction *wanted, struct sigaction *old)
{
    if (signal < 1 || signal >= NSIG || !alternate_is_small()) /* servers set handlers for each request */
        return real.sigaction(signal, wanted, old);
    struct sigaction next, before;
    if (wanted)
        next = *wanted; /* before the lock: the pointer may be bad */
    bool widen = wanted && runs_there(&next);
    uint64_t own = widen ? mask_of(&next) & signals_tick_bits() : 0;
    if (widen)
        set_mask(&next, mask_of(&next) | signals_tick_bits());
    uint64_t mask = signals_lock();
    int result = real.sigaction(signal, wanted ? &next : NULL, &before);
    uint64_t own_before = own_bits[signal];
    /* the child of a vfork shares this memory but has signals of its own */
    if (result == 0 && wanted && signals_is_own_process())
        own_bits[signal] = own;
    signals_unlock(mask);
    if (result == 0 && old) {
        if (runs_there(&before))
            set_mask(&before, mask_of(&before) & (~signals_tick_bits() | own_before));
        *old = before;
    }
    return result;
}

void alternate_begin(void)
{
    if (!alternate_is_small() || !signals_tick())
        return;
    for (int signal = 1; signal < NSIG; signal++) {
        struct sigaction now;
        if (!signals_is_held(signal) && real.sigaction(signal, NULL, &now) == 0 && runs_there(&now)) {
            uint64_t own = mask_of(&now) & signals_tick_bits();
            set_mask(&now, mask_of(&now) | signals_tick_bits());
            if (real.sigaction(signal, &now, NULL) == 0)
                own_bits[signal] = own;
        }
    }
}
