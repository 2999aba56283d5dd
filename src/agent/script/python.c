/* agent/script/python.c - see agent/script/python.h. Runs in hooks and handlers of threads that run Python, and in no others: a
 * program without an interpreter never gets here.
 *
 * A frame's code, line and texts are sent once a thread, as the name of an address that no processor has; chains then have the address. What
 * a handler finds half written is read all the same: each read may fault, which the agent's own handler ends (isa/CPU/guard.h), or is
 * the kernel's to make where the fault would not come to that handler. */
#include "agent/script/python.h"

#include "agent/sampling/sampler.h"
#include "agent/signals/signals.h"
#include "agent/unwind/stack.h"
#include "base/python_frames.h"
#include "base/sys.h"
#if defined(__x86_64__)
#include "isa/x86_64/guard.h"
#endif

#include <stdatomic.h>
#include <string.h>
#include <sys/uio.h>

enum {
    NAMES = 8192, /* that a thread remembers; a power of two */
    PROBES = 8,
    ARRAYS_MOST = 1000, /* names of a thread: a program may allocate arrays of any shape */
    SKIP_MOST = 4096,   /* chains of a thread that Python does not know, before it is looked for again */
};

struct script_name {
    uint64_t key;
    uint32_t id;
};

static struct python_where where; /* written once, before stack_script is */
static _Atomic uint32_t last_id;  /* of names, in all threads */

static bool read_asking(uint64_t from, void *to, size_t bytes)
{
    struct iovec local = {to, bytes}, remote = {(void *)from, bytes};
    return sys_call(SYS_process_vm_readv, sys_call(SYS_getpid), &local, 1, &remote, 1, 0) == (long)bytes;
}

bool python_read_own(void *context, uint64_t from, void *to, size_t bytes)
{
#if defined(__x86_64__)
    const struct script_thread *thread = context;
    if (thread && thread->guarded)
        return guard_copy(to, (const void *)from, bytes) == bytes;
#else
    (void)context;
#endif
    return read_asking(from, to, bytes);
}

static struct python_reader reader_of(struct script_thread *thread)
{
    return (struct python_reader){.read = python_read_own, .context = thread};
}

bool python_own_text(struct script_thread *thread, uint64_t string, char *to, size_t room)
{
    struct python_reader own = reader_of(thread);
    return python_text(&where, &own, string, to, room, false) > 0;
}

static inline uint64_t mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 32;
}

static struct script_name *place_of(struct script_thread *thread, uint64_t key)
{
    if (!thread->names)
        thread->names = sys_pages(NAMES * sizeof *thread->names);
    if (!thread->names)
        return NULL;
    struct script_name *first = &thread->names[key % NAMES & ~(uint64_t)(PROBES - 1)];
    for (unsigned i = 0; i < PROBES; i++)
        if (first[i].key == key || first[i].id == 0)
            return &first[i];
    first[key >> 40 & (PROBES - 1)].id = 0;
    return &first[key >> 40 & (PROBES - 1)];
}

static uint32_t send_texts(struct agent_thread *self, const char *texts, size_t length, uint32_t line, bool may_wait)
{
    uint32_t words = (uint32_t)(sizeof(struct wire_code) + length + 7) / 8;
    struct wire_code *record = agent_reserve(self, words, LOSS_STACK_TABLE, may_wait);
    if (!record)
        return 0;
    uint32_t id = atomic_fetch_add_explicit(&last_id, 1, memory_order_relaxed) + 1;
    memset(record, 0, words * 8u);
    record->head = (struct wire_head){.type = WIRE_CODE, .words = (uint8_t)words, .value = line};
    record->time = agent_time();
    record->id = id;
    memcpy(record->texts, texts, length);
    agent_commit(self, words);
    return id;
}

/* Sends what the frame is called; 0 when that cannot be read or sent. */
static uint32_t send_name(struct agent_thread *self, struct script_thread *thread, const struct python_frame *frame,
                          uint32_t line, bool may_wait)
{
    struct python_reader own = reader_of(thread);
    char texts[PYTHON_NAME + PYTHON_FILE];
    size_t name = python_text(&where, &own, python_head(frame, where.layout.name), texts, PYTHON_NAME, false);
    size_t file =
        name ? python_text(&where, &own, python_head(frame, where.layout.file), texts + name, PYTHON_FILE, true) : 0;
    return file ? send_texts(self, texts, name + file, line, may_wait) : 0;
}

static uint32_t id_of(struct agent_thread *self, struct script_thread *thread, const struct python_frame *frame,
                      bool may_wait)
{
    const struct python_layout *layout = &where.layout;
    uint64_t code = mix(mix(frame->code, python_head(frame, layout->name)), python_head(frame, layout->file));
    code = mix(mix(code, python_head(frame, layout->lines)), (uint32_t)python_head(frame, layout->first_line));
    struct script_name *place = place_of(thread, mix(code, frame->instruction));
    if (!place)
        return 0;
    if (place->id && place->key == mix(code, frame->instruction))
        return place->id;
    struct python_reader own = reader_of(thread);
    agent_calls_out(self);
    if (python_word(&own, frame->code + 8) != where.code_type)
        return 0;
    uint32_t line = python_line(&where, &own, frame);
    struct script_name *by_line = place_of(thread, mix(code, ~(uint64_t)line));
    uint32_t id = by_line->id;
    if (!id)
        id = send_name(self, thread, frame, line, may_wait);
    if (!id)
        return 0;
    *by_line = (struct script_name){mix(code, ~(uint64_t)line), id};
    *place = (struct script_name){mix(code, frame->instruction), id};
    return id;
}

uint32_t python_array_id(struct agent_thread *self, struct script_thread *thread, const char *texts, size_t length,
                         bool may_wait)
{
    uint64_t key = 1;
    for (size_t i = 0; i < length; i++)
        key = mix(key, (uint8_t)texts[i]);
    struct script_name *place = place_of(thread, key);
    if (!place || (place->id && place->key == key))
        return place ? place->id : 0;
    uint32_t id = thread->arrays < ARRAYS_MOST ? send_texts(self, texts, length, 0, may_wait) : 0;
    thread->arrays += id != 0;
    if (id)
        *place = (struct script_name){key, id};
    return id;
}

/* The state that Python has of this thread; 0 when none. */
static uint64_t own_state(struct script_thread *thread)
{
    struct python_reader own = reader_of(thread);
    if (thread->state && python_word(&own, thread->state + where.layout.native_id) == thread->tid)
        return thread->state;
    thread->tid = (uint64_t)sys_call(SYS_gettid);
    thread->state = python_thread(&where, &own, thread->tid);
    thread->wait = thread->state ? 0 : thread->wait * 2 + 1;
    thread->skip = thread->wait = thread->wait > SKIP_MOST ? SKIP_MOST : thread->wait;
    return thread->state;
}

static unsigned python_chain(struct agent_thread *self, struct script_thread *thread, struct script_frame *frames,
                             bool may_wait)
{
    struct python_frame found[PYTHON_FRAMES];
    struct python_reader own = reader_of(thread);
    if (thread->skip) {
        thread->skip--;
        return 0;
    }
    if (!sys_restricted) /* ticks have looked at the mask of what they interrupt */
        thread->guarded = sampler_is_active() && (!may_wait || signals_take_faults());
    uint64_t state = own_state(thread);
    unsigned count = state ? python_walk(&where, &own, state, found) : 0, kept = 0;
    for (unsigned i = 0; i < count; i++) {
        uint32_t id = id_of(self, thread, &found[i], may_wait);
        if (id)
            frames[kept++] = (struct script_frame){RUNTIME_CODE_SCRIPT + id * 16ul + 8, found[i].entry};
        else if (found[i].entry && kept)
            frames[kept - 1].entry = true;
    }
    return kept;
}

static void forget_names(struct script_thread *thread)
{
    if (thread->names)
        sys_unmap(thread->names, NAMES * sizeof *thread->names);
    thread->names = NULL;
}

void python_start(const struct python_where *found)
{
    where = *found;
    stack_script_start = where.eval_start;
    stack_script_end = where.eval_end;
    stack_script_free = forget_names;
    atomic_thread_fence(memory_order_release);
    stack_script = python_chain;
}
