/* Threads: their start, and their names. */
#include "agent/region/attach.h"
#include "agent/place/place_hooks.h"
#include "agent/process/assign.h"
#include "agent/signals/mask.h"
#include "agent/real.h"
#include "agent/region/hook_record.h"
#include "agent/self.h"
#include "base/sys.h"

#include <string.h>

/* What a new thread needs to know. Slots are taken by the creator and given back by the thread itself. */
struct start {
    _Atomic uint32_t taken;
    void *(*routine)(void *);
    void *argument;
    uint64_t hidden; /* of its creator's signal mask */
    uint64_t created;
    uint32_t place; /* agent/process/assign.h */
    struct place_thread planned;
};
enum { STARTS = 256 };
static struct start starts[STARTS];

static struct start *start_take(void *(*routine)(void *), void *argument)
{
    for (unsigned i = 0; i < STARTS; i++) {
        struct start *start = &starts[i];
        if (!atomic_load_explicit(&start->taken, memory_order_relaxed) &&
            !atomic_exchange_explicit(&start->taken, 1, memory_order_acquire)) {
            start->routine = routine;
            start->argument = argument;
            start->hidden = mask_hidden(thread_self());
            start->created = agent_switch.live ? agent_time() : 0;
            start->place = assign_next();
            if (place_wants.threads)
                start->planned = place_thread_next(routine);
            return start;
        }
    }
    return NULL;
}

static void start_release(struct start *start)
{
    atomic_store_explicit(&start->taken, 0, memory_order_release);
}

static void *run(void *argument)
{
    struct start *start = argument;
    void *(*routine)(void *) = start->routine;
    void *routine_argument = start->argument;
    uint64_t created = start->created;
    assign_go(start->place);
    if (place_wants.threads) {
        place_thread_go(start->planned);
        place_stack(routine);
    }
    struct agent_thread *self = attach_live() ? self_begin() : NULL;
    if (self)
        mask_inherit(self, start->hidden);
    start_release(start);
    if (self && attach_live())
        thread_begin(self, (uint64_t)routine, created);
    return routine(routine_argument);
}

AGENT_EXPORT int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*routine)(void *),
                                void *argument)
{
    real_need();
    /* Without a slot the thread goes uncounted until its first allocation reports it. */
    struct start *start = attach_live() || place_wants.threads ? start_take(routine, argument) : NULL;
    if (!start)
        return real.pthread_create(thread, attributes, routine, argument);
    int result = real.pthread_create(thread, attributes, run, start);
    if (result)
        start_release(start);
    return result;
}

static void report_name(uint32_t tid, const char *name)
{
    int saved;
    if (!attach_live())
        return;
    struct agent_thread *self = self_need();
    if (!record_begin(self, &saved))
        return;
    thread_renamed(self, tid, name);
    record_end(self, saved);
}

AGENT_EXPORT int pthread_setname_np(pthread_t thread, const char *name)
{
    real_need();
    int result = real.pthread_setname_np(thread, name);
    if (result)
        return result;
    /* A thread without a number has not reported itself yet and will do so under its new name. */
    const struct agent_thread *other = self_of(thread);
    uint32_t tid = other ? other->tid : 0;
    if (tid || pthread_equal(thread, pthread_self()))
        report_name(tid, name);
    return 0;
}
