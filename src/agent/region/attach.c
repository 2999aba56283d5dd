#include "agent/region/attach.h"

#include "agent/environment.h"
#include "agent/region/identity.h"
#include "agent/process/userfault.h"
#include "agent/process/locals.h"
#include "agent/process/modules.h"
#include "agent/process/own_process.h"
#include "agent/region/hook_record.h"
#include "agent/region/reach.h"
#include "agent/real.h"
#include "agent/process/restrict.h"
#include "agent/region/thread_ring.h"
#include "agent/sampling/sampler.h"
#include "agent/self.h"
#include "agent/signals/signals.h"
#include "agent/unwind/stack.h"
#include "base/sys.h"
#include "agent/process/thread.h"

enum phase {
    PHASE_UNTRIED,
    PHASE_BUSY, /* a thread attaches, or attaches again after fork; its own hooks pass through */
    PHASE_ATTACHED,
    PHASE_OFF, /* no recorder, or it has ended: for good */
};

AGENT_FORKED static _Atomic uint32_t phase;
AGENT_FORKED static uint32_t process_pid; /* whose state this is; written when attached and after fork */
AGENT_HOT bool attach_is_off;             /* any thread sets it; it stays */
static bool restricted, sampling;

void attach_give_up(void)
{
    /* In this order: a switch that is off while the phase says attached means a fork. */
    atomic_store_explicit(&phase, PHASE_OFF, memory_order_seq_cst);
    attach_is_off = true;
    agent_switch.live = 0;
    agent_switch.heap = 0;
}

void attach_restrict(void)
{
    if (agent_switch.live)
        ring_map_all();
    restricted = true;
}

bool attach_is_restricted(void)
{
    return restricted;
}

bool attach_is_sampling(void)
{
    return sampling;
}

static void switch_on(void)
{
    agent_switch.live = 1;
    agent_switch.heap = (agent_region->config.flags & WIRE_TRACK_HEAP) != 0;
    atomic_store_explicit(&phase, PHASE_ATTACHED, memory_order_release);
}

/* Reports who we are. `self` has no ring yet. */
static void introduce(struct agent_thread *self, bool forked)
{
    process_pid = (uint32_t)sys_call(SYS_getpid);
    ring_image = atomic_fetch_add_explicit(&agent_region->images, 1, memory_order_relaxed) + 1;
    process_owe(forked);
    agent_switch.live = 1;
    if (ring_claim(self)) {
        process_report(self);
        if (forked)
            thread_report(self, 0, agent_time());
        else
            process_report_main(self);
    }
}

/* Nothing of this process is recorded, and the report says why. */
static void lose_process(enum loss_cause cause)
{
    atomic_fetch_add_explicit(&agent_region->shared.lost[cause], 1, memory_order_relaxed);
    attach_give_up();
}

/* The same before anything of it was recorded: the recorder sees a program that no agent speaks for, and need not count it. */
static struct agent_thread *lose_program(enum loss_cause cause)
{
    if (!agent_region || !atomic_load_explicit(&agent_region->recording, memory_order_acquire))
        return NULL;
    lose_process(cause);
    if (cause != LOSS_UNREACHABLE) /* which it finds out by itself */
        atomic_fetch_add_explicit(&agent_region->explained, 1, memory_order_relaxed);
    return NULL;
}

static void note_clock(void)
{
    const struct wire_config *config = &agent_region->config;
    agent_ticks_per_us = config->flags & WIRE_COUNTER_IS_CPU ? config->ticks_per_us : 0;
    ring_find_cpu();
}

/* The recorder's region, and a block for this thread; NULL when either cannot be had. */
static struct agent_thread *find_recorder(void)
{
    struct environment_region where;
    struct reached reached;
    enum loss_cause cause;
    if (!environment_read(environ, &where))
        return NULL;
    if (restrict_found(where.filters, &cause)) {
        agent_region = reach_header(&where);
        sys_restricted = true;
        return lose_program(cause);
    }
    agent_region = reach_region(&where, &reached);
    if (!agent_region || !atomic_load_explicit(&agent_region->recording, memory_order_acquire))
        return NULL;
    note_clock();
    if (!identity_attach(&reached))
        return lose_program(LOSS_UNREACHABLE);
    return thread_setup() ? self_need() : lose_program(LOSS_NO_KEY);
}

static void attach(struct agent_thread *self)
{
    if (!(agent_region->config.flags & WIRE_FOLLOW_CHILDREN))
        environment_strip(environ);
    /* Kernels before 4.14 do not know this; there the hooks of fork do what they can. */
    sys_call(SYS_madvise, &agent_switch, sizeof agent_switch, MADV_WIPEONFORK);
    modules_setup();
    introduce(self, false);
    modules_refresh(self);
    locals_setup();
    if (self->producer.ring)
        locals_report(self);
    if ((agent_region->config.flags & WIRE_TRACK_HEAP) && !real_malloc_is_hooked())
        atomic_fetch_add_explicit(&agent_region->shared.lost[LOSS_HEAP_UNSEEN], 1, memory_order_relaxed);
    share_userfault();
    switch_on();
}

/* In a child made by fork, before anything else is recorded. */
static void start_again(struct agent_thread *self, bool was_inside)
{
    static struct wire_ring nowhere;
    self_forked();
    modules_forked();
    if (sampling)
        signals_forked();
    if (!(agent_region->config.flags & WIRE_FOLLOW_CHILDREN)) {
        attach_give_up();
        return;
    }
    if (was_inside) {
        /* A signal handler forked while its thread was writing a record, and that writing will go on in this child
         * too: let it end where nobody looks. */
        self->producer.ring = &nowhere;
        self->quick = 0;
        self->wake_at = UINT64_MAX;
        lose_process(LOSS_CHILD_UNTRACKED);
        return;
    }
    if (!identity_forked()) {
        ring_forget(self);
        lose_process(LOSS_UNREACHABLE);
        return;
    }
    ring_forget(self);
    stack_forked(self);
    introduce(self, true);
    share_userfault();
    switch_on();
    if (sampling)
        sampler_start(true);
}

void attach_look(void)
{
    uint32_t now = atomic_load_explicit(&phase, memory_order_acquire);
    if (now == PHASE_OFF || now == PHASE_BUSY || (now == PHASE_ATTACHED && agent_switch.live))
        return;
    if (now == PHASE_UNTRIED && !environ)
        return; /* libc itself has not begun */
    if (!atomic_compare_exchange_strong(&phase, &now, PHASE_BUSY))
        return;
    int saved = errno;
    struct agent_thread *self = now == PHASE_UNTRIED ? find_recorder() : self_need();
    if (!self) {
        attach_give_up();
        errno = saved;
        return;
    }
    bool was_inside = self->inside != 0;
    uint64_t began = record_cpu_ns();
    self->inside += AGENT_CALLS_LIBC;
    if (now == PHASE_UNTRIED)
        attach(self);
    else
        start_again(self, was_inside);
    record_rare_cpu(self, began);
    self->inside -= AGENT_CALLS_LIBC;
    errno = saved;
}

void attach_forked(void)
{
    if (atomic_load_explicit(&phase, memory_order_acquire) != PHASE_ATTACHED)
        return;
    agent_switch.touched = 1;
    if (agent_switch.live && process_pid != (uint32_t)sys_call(SYS_getpid)) {
        agent_switch.live = 0;
        agent_switch.heap = 0;
    }
    attach_look();
}

void attach_finish(void)
{
    struct agent_thread *self = agent_switch.live ? self_need() : NULL;
    if (!self)
        return;
    int saved = errno;
    self->inside += AGENT_BUSY;
    if (sampling)
        sampler_stop();
    if (thread_ready(self, true))
        modules_refresh(self);
    self->inside -= AGENT_BUSY;
    thread_end(self);
    errno = saved;
}

void attach_begin_sampling(void)
{
    struct agent_thread *self = thread_self();
    if (!self || !agent_switch.live || !(agent_region->config.flags & (WIRE_SAMPLE_LOADS | WIRE_SAMPLE_STORES)))
        return;
    int saved = errno;
    self->inside += AGENT_BUSY;
    sampling = sampler_start(false);
    self->inside -= AGENT_BUSY;
    errno = saved;
}

bool attach_join(struct wire_region *region)
{
    struct agent_thread *self = thread_self();
    uint32_t now = PHASE_UNTRIED;
    if (!atomic_compare_exchange_strong(&phase, &now, PHASE_BUSY))
        return false;
    int saved = errno;
    self->inside += AGENT_CALLS_LIBC;
    real_resolve();
    agent_region = region;
    note_clock();
    sys_call(SYS_madvise, &agent_switch, sizeof agent_switch, MADV_WIPEONFORK);
    modules_setup();
    identity_attach(&(struct reached){0});
    process_pid = (uint32_t)sys_call(SYS_getpid);
    ring_image = atomic_fetch_add_explicit(&region->images, 1, memory_order_relaxed) + 1;
    process_owe(false);
    agent_switch.live = 1;
    if (thread_ready(self, true)) {
        process_report_maps(self);
        modules_refresh(self);
    }
    switch_on();
    self->inside -= AGENT_CALLS_LIBC;
    errno = saved;
    return true;
}
