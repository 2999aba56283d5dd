#include "agent/thread.h"

#include "agent/locals.h"
#include "agent/maps.h"
#include "agent/modules.h"
#include "agent/process.h"
#include "agent/record.h"
#include "agent/ring.h"
#include "agent/sampler.h"
#include "agent/stack.h"
#include "agent/sys.h"

#include <limits.h>
#include <pthread.h>
#include <string.h>

/* The key whose destructor tells of a thread's end, however it ends. Written once by thread_setup. */
static pthread_key_t end_key;
static bool has_end_key;

static void end_destructor(void *value)
{
    struct agent_thread *self = &agent_self;
    /* Destructors of other keys may still allocate and release: let them go first, for as many rounds as there are. */
    if (++self->farewells < PTHREAD_DESTRUCTOR_ITERATIONS) {
        pthread_setspecific(end_key, value);
        return;
    }
    thread_end(self);
}

void thread_setup(void)
{
    if (!has_end_key)
        has_end_key = pthread_key_create(&end_key, end_destructor) == 0;
}

static void watch_end(struct agent_thread *self)
{
    if (!has_end_key)
        return;
    self->inside += AGENT_CALLS_LIBC;
    pthread_setspecific(end_key, self);
    self->inside -= AGENT_CALLS_LIBC;
}

struct stack_search {
    uint64_t sp, low, high;
};

static bool holds_sp(const struct maps_line *line, void *data)
{
    struct stack_search *search = data;
    if (search->sp < line->start || search->sp >= line->end)
        return false;
    search->low = line->start;
    search->high = line->end;
    return true;
}

void thread_find_stack(struct agent_thread *self)
{
    struct stack_search search = {.sp = (uint64_t)__builtin_frame_address(0)};
    self->stack_asked = true;
    if (!maps_find(holds_sp, &search))
        return;
    /* glibc puts its descriptor at the stack's top; beyond it the map may belong to somebody else. */
    uint64_t descriptor = (uint64_t)pthread_self();
    if (descriptor > search.sp && descriptor < search.high)
        search.high = descriptor & ~(uint64_t)15;
    self->stack_low = search.low;
    self->stack_high = search.high;
}

void thread_tell(struct agent_thread *self, uint64_t entry, uint64_t time)
{
    enum { WORDS = sizeof(struct wire_thread) / 8 };
    struct wire_thread *record = agent_reserve(self, WORDS, LOSS_RING_FULL, false);
    self->started = true;
    if (!record)
        return;
    record->head = (struct wire_head){.type = WIRE_THREAD, .words = WORDS, .cpu = agent_cpu(), .value = self->tid};
    record->time = time;
    record->stack_low = self->stack_low;
    record->stack_high = self->stack_high;
    record->entry = entry;
    memset(record->name, 0, sizeof record->name);
    sys_call(SYS_prctl, PR_GET_NAME, record->name, 0, 0, 0);
    agent_commit(self, WORDS);
}

bool thread_ready(struct agent_thread *self, bool may_ask)
{
    if (self->producer.ring)
        return true;
    if (self->ended) {
        ring_lose(self, LOSS_THREAD_ENDED, 1);
        return false;
    }
    if (may_ask && !self->stack_high && !self->stack_asked)
        thread_find_stack(self);
    if (!ring_claim(self))
        return false;
    watch_end(self);
    process_tell(self);
    thread_tell(self, 0, agent_time());
    locals_tell(self);
    if (may_ask)
        sampler_thread_start(self);
    return true;
}

void thread_begin(uint64_t entry, uint64_t created)
{
    uint64_t began = ring_time();
    struct agent_thread *self = &agent_self;
    int saved = errno;
    self->inside += AGENT_CALLS_LIBC;
    pthread_attr_t attributes;
    if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
        void *low = NULL;
        size_t size = 0;
        pthread_attr_getstack(&attributes, &low, &size);
        self->stack_low = (uint64_t)low;
        self->stack_high = (uint64_t)low + size;
        pthread_attr_destroy(&attributes);
    }
    self->inside -= AGENT_CALLS_LIBC - AGENT_BUSY;
    if (!self->producer.ring && ring_claim(self)) {
        watch_end(self);
        process_tell(self);
        thread_tell(self, entry, created);
        locals_tell(self);
    }
    /* The linker allocated for this thread, so it looks as if it had loaded something; a thread that never allocates
     * would leave it at that. */
    if (agent_switch.modules && self->producer.ring)
        modules_refresh(self);
    sampler_thread_start(self);
    record_rare_work(self, began);
    self->inside -= AGENT_BUSY;
    errno = saved;
}

void thread_end(struct agent_thread *self)
{
    int saved = errno;
    uint64_t began = ring_time();
    self->inside += AGENT_BUSY;
    sampler_thread_stop(self);
    if (self->producer.ring) {
        enum { WORDS = sizeof(struct wire_thread_exit) / 8 };
        struct wire_thread_exit *record = agent_reserve(self, WORDS, LOSS_RING_FULL, true);
        if (record) {
            record->head =
                (struct wire_head){.type = WIRE_THREAD_EXIT, .words = WORDS, .cpu = agent_cpu(), .value = self->tid};
            record->time = agent_time();
            agent_commit(self, WORDS);
        }
        record_rare_work(self, began);
        ring_close(self);
        stack_forget(self);
    }
    self->ended = true;
    self->inside -= AGENT_BUSY;
    errno = saved;
}

void thread_renamed(struct agent_thread *self, uint32_t tid, const char *name)
{
    enum { WORDS = sizeof(struct wire_thread_name) / 8 };
    if (!thread_ready(self, true))
        return;
    struct wire_thread_name *record = agent_reserve(self, WORDS, LOSS_RING_FULL, true);
    if (!record)
        return;
    record->head = (struct wire_head){
        .type = WIRE_THREAD_NAME, .words = WORDS, .cpu = agent_cpu(), .value = tid ? tid : self->tid};
    record->time = agent_time();
    memset(record->name, 0, sizeof record->name);
    memcpy(record->name, name, strnlen(name, sizeof record->name - 1));
    agent_commit(self, WORDS);
}
