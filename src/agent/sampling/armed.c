/* agent/sampling/armed.c - see armed.h. Everything but armed_call runs in handlers. */
#include "agent/sampling/armed.h"
#include "base/sys.h"

#include <string.h>

enum { PLACES = 4096, PROBES = 16 };

struct armed_slot {
    _Atomic uint32_t tid; /* 0: free. Taken and given back by the thread itself */
    _Atomic uint64_t tick_ns;
};
static struct armed_slot places[PLACES];

/* Marks our calls in siginfo: its address is known to nobody else. */
static const char call_mark;

static struct armed_slot *find(uint32_t tid)
{
    for (uint32_t i = 0; i < PROBES; i++) {
        struct armed_slot *place = &places[(tid + i) % PLACES];
        if (atomic_load_explicit(&place->tid, memory_order_relaxed) == tid)
            return place;
    }
    return NULL;
}

void armed_add(uint32_t tid, uint64_t tick_ns)
{
    struct armed_slot *place = find(tid);
    for (uint32_t i = 0; i < PROBES && !place; i++) {
        uint32_t nobody = 0;
        if (atomic_compare_exchange_strong(&places[(tid + i) % PLACES].tid, &nobody, tid))
            place = &places[(tid + i) % PLACES];
    }
    if (place)
        atomic_store_explicit(&place->tick_ns, tick_ns, memory_order_relaxed);
}

void armed_remove(uint32_t tid)
{
    struct armed_slot *place = find(tid);
    if (!place)
        return;
    atomic_store_explicit(&place->tick_ns, 0, memory_order_relaxed);
    atomic_store_explicit(&place->tid, 0, memory_order_release);
}

uint64_t armed_tick(uint32_t tid)
{
    const struct armed_slot *place = find(tid);
    return place ? atomic_load_explicit(&place->tick_ns, memory_order_relaxed) : 0;
}

int armed_call(uint32_t tid, int signal)
{
    siginfo_t info;
    memset(&info, 0, sizeof(info));
    info.si_signo = signal;
    info.si_code = SI_QUEUE;
    pid_t pid = (pid_t)sys_call_asked(SYS_getpid);
    info.si_pid = pid;
    info.si_value.sival_ptr = (void *)&call_mark;
    return (int)sys_call(SYS_rt_tgsigqueueinfo, pid, tid, signal, &info);
}

bool armed_is_call(const siginfo_t *info)
{
    return info->si_code == SI_QUEUE && info->si_value.sival_ptr == &call_mark;
}
