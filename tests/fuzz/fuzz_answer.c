/* fuzz_answer.c - any bytes as what an executor answers, while a thread writes beside it: an executor that the sampled program has
 * taken over. */
#include "capture/outside/outside_burst.h"
#include "capture/outside/remote_python.h"
#include "capture/outside/thread_stop.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { PID = 1 << 30 /* nobody's */, STOPS = 6, BURST = 28 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
struct executor_job *__wrap_executor_job(struct executor_client *client);
bool __wrap_executor_run(struct executor_client *client);
enum stop_state __wrap_stop_take(pid_t tid, bool child, struct executor_job *job);
bool __wrap_stop_let_go(pid_t tid);
void __wrap_stop_copy_stack(pid_t tid, struct executor_job *job);
struct capture_process *__wrap_running_process(struct running *running, uint32_t pid, uint32_t tid, uint64_t time);
void __wrap_running_runs(struct running *running, uint32_t pid, uint64_t pc, uint64_t time);
void __wrap_running_renew(struct running *running, uint32_t pid, uint64_t time);
bool __wrap_glibc_heap_look(struct glibc_heap *heap, struct sink *sink, uint64_t time);
struct executor_client *__wrap_executor_start(uint32_t pid, struct error *err);
void __wrap_executor_stop(struct executor_client *client);
uint64_t __wrap_executor_cpu_ns(const struct executor_client *client);
void __wrap_executor_find_devices(struct executor_client *client, uint32_t pid);

static struct executor_job *job; /* alone in its memory: a step beyond it is seen */
static const uint8_t *at, *end;
static unsigned samples;

static size_t take(void *to, size_t most)
{
    size_t bytes = (size_t)(end - at) < most ? (size_t)(end - at) : most;
    memcpy(to, at, bytes);
    at += bytes;
    return bytes;
}

struct executor_job *__wrap_executor_job(struct executor_client *client)
{
    (void)client;
    return job;
}

bool __wrap_executor_run(struct executor_client *client)
{
    uint8_t kind = 0;
    (void)client;
    take(&kind, 1);
    take(&job->end, 16);
    take(&job->steps, 8);
    take(job->accesses, (size_t)kind * 3);
    if (kind & 1)
        job->count %= EXECUTOR_ACCESSES + 2;
    return kind != 0xff;
}

enum stop_state __wrap_stop_take(pid_t tid, bool child, struct executor_job *asked)
{
    uint8_t state = STOP_TAKEN;
    (void)tid;
    (void)child;
    take(&state, 1);
    if (asked)
        take(&asked->general[EXECUTOR_SP], 8);
    return state % 8 > STOP_ENDED ? STOP_TAKEN : (enum stop_state)(state % 8);
}

bool __wrap_stop_let_go(pid_t tid)
{
    (void)tid;
    return true;
}

void __wrap_stop_copy_stack(pid_t tid, struct executor_job *asked)
{
    (void)tid;
    (void)asked;
}

struct capture_process *__wrap_running_process(struct running *running, uint32_t pid, uint32_t tid, uint64_t time)
{
    (void)tid;
    (void)time;
    return process_find(running->processes, pid);
}

void __wrap_running_runs(struct running *running, uint32_t pid, uint64_t pc, uint64_t time)
{
    (void)running;
    (void)pid;
    (void)pc;
    (void)time;
}

void __wrap_running_renew(struct running *running, uint32_t pid, uint64_t time)
{
    (void)running;
    (void)pid;
    (void)time;
}

struct executor_client *__wrap_executor_start(uint32_t pid, struct error *err)
{
    (void)pid;
    (void)err;
    return (struct executor_client *)1;
}

void __wrap_executor_stop(struct executor_client *client)
{
    (void)client;
}

uint64_t __wrap_executor_cpu_ns(const struct executor_client *client)
{
    (void)client;
    return 1;
}

void __wrap_executor_find_devices(struct executor_client *client, uint32_t pid)
{
    (void)client;
    (void)pid;
}

bool __wrap_glibc_heap_look(struct glibc_heap *heap, struct sink *sink, uint64_t time)
{
    (void)heap;
    (void)sink;
    (void)time;
    return false;
}

static void *scribbler(void *context)
{
    volatile struct executor_job *shared = context;
    for (uint32_t i = 0;; i++) {
        shared->count = i & 1 ? i : i % BURST;
        shared->end = i;
    }
    return NULL;
}

static void see(void *context, const struct event *event)
{
    (void)context;
    samples += event->kind == EVENT_SAMPLE;
}

static void begin(void)
{
    pthread_t thread;
    job = aligned_alloc(4096, sizeof *job);
    memset(job, 0, sizeof *job);
    if (pthread_create(&thread, NULL, scribbler, job))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct outside outside;
    static const struct source_listener listener;
    const struct capture_options options = {.burst = BURST, .loads = true, .stores = true};
    if (!job)
        begin();
    struct sink sink = {.tap = see};
    struct process_table processes;
    struct running running;
    struct event start = {.time = 1, .pid = PID, .kind = EVENT_PROCESS_START, .process = {.exe = "", .command = ""}};
    process_table_init(&processes, &sink, 1 << 20);
    process_start(&processes, &start, 1);
    running_init(&running, &processes);
    outside = (struct outside){
        .options = &options, .sink = &sink, .running = &running, .listener = &listener, .random = 1, .allowed = 1};
    struct outside_process process = {.pid = PID,
                                      .heap = glibc_heap_new(PID, 1),
                                      .python = remote_python_new(PID, 1),
                                      .executor = (struct executor_client *)1};
    struct outside_thread thread = {.tid = PID + 1, .has_stack = true, .stack_high = UINT64_MAX};
    at = data;
    end = data + size;
    for (unsigned i = 0; i < STOPS && !process.ended; i++) {
        process.executor = (struct executor_client *)1;
        thread.asked = 1;
        outside.asked = 1;
        samples = 0;
        outside_take_stop(&outside, &process, &thread);
        if (samples > BURST)
            abort();
    }
    remote_python_free(process.python);
    glibc_heap_free(process.heap);
    map64_free(&outside.refused);
    running_free(&running);
    process_table_free(&processes);
    return 0;
}
