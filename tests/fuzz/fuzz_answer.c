/* fuzz_answer.c - any bytes as what an executor answers, while a thread writes beside it: an executor that the sampled program has
 * taken over. The process is this one as far as its Python is concerned, which has the memory of an interpreter; it may be anything too. */
#include "../capture/python_memory.h"
#include "capture/outside/outside_burst.h"
#include "capture/process/proc.h"
#include "symbols/binary.h"
#include "capture/outside/remote_python.h"
#include "capture/outside/thread_stop.h"

#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { PID = 1 << 30 /* nobody's */, STOPS = 6, BURST = 28, NAMES = 64 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
struct executor_job *__wrap_executor_job(struct executor_client *client);
bool __wrap_executor_run(struct executor_client *client, const struct remote_rules *rules);
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

struct binary *__real_binary_open(const char *path, char **why);
struct binary *__wrap_binary_open(const char *path, char **why);
bool __wrap_proc_maps_next(struct proc_maps *maps, struct proc_map *map);

static struct executor_job *job; /* alone in its memory: a step beyond it is seen */
static const uint8_t *at, *end;
static unsigned samples;
static bool named; /* a frame of Python was, once */

static size_t take(void *to, size_t most)
{
    size_t bytes = (size_t)(end - at) < most ? (size_t)(end - at) : most;
    memcpy(to, at, bytes);
    at += bytes;
    return bytes;
}

struct binary *__wrap_binary_open(const char *path, char **why)
{
    (void)path;
    return __real_binary_open("/proc/self/exe", why);
}

static int find_start(struct dl_phdr_info *info, size_t size, void *start)
{
    (void)size;
    for (unsigned i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_LOAD && info->dlpi_phdr[i].p_offset == 0)
            *(uint64_t *)start = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
    return 1;
}

/* This program, as an interpreter. */
bool __wrap_proc_maps_next(struct proc_maps *maps, struct proc_map *map)
{
    bool first = maps->file;
    proc_maps_close(maps);
    *map = (struct proc_map){.path = "/python3"};
    dl_iterate_phdr(find_start, &map->start);
    return first;
}

/* Most frames have a code; some of it, and of all that is found by it, is anything. */
static void take_chains(void)
{
    uint8_t head[4] = {0};
    take(head, sizeof head);
    job->chains.count = head[0] % (EXECUTOR_CHAINS + 2);
    job->native.count = head[1] % (EXECUTOR_CHAINS + 2);
    take(job->chains.of, head[2] % (BURST + 1));
    take(job->native.of, head[2] % (BURST + 1));
    for (unsigned i = 0; i < job->chains.count && i < EXECUTOR_CHAINS && at < end; i++) {
        struct executor_chain *chain = &job->chains.items[i];
        uint16_t part = 0;
        take(&part, sizeof part);
        chain->depth = part % (PYTHON_FRAMES + 2);
        for (unsigned k = 0; k < PYTHON_FRAMES; k++)
            chain->frames[k] = (struct executor_frame){place(CODE) + (part & 0xc000 ? 0 : part * 8),
                                                       place(CODE) + 184 + 2 * k, part & 1};
        take(&chain->frames[part % PYTHON_FRAMES], part >> 8 & 31);
    }
    for (unsigned i = 0; i < job->native.count && i < EXECUTOR_CHAINS && at < end; i++)
        take(&job->native.items[i], head[3]);
    for (uint8_t where[2]; head[2] & 0x80 && take(where, 2) == 2 && where[0]; head[2] >>= 1)
        take(&memory[(where[0] << 8 | where[1]) % WORDS], 1 + where[0] % 8);
}

struct executor_job *__wrap_executor_job(struct executor_client *client)
{
    (void)client;
    return job;
}

bool __wrap_executor_run(struct executor_client *client, const struct remote_rules *rules)
{
    (void)rules;
    uint8_t kind = 0;
    (void)client;
    take(&kind, 1);
    take(&job->end, 16);
    take(&job->steps, 8);
    take(job->accesses, (size_t)kind * 3);
    take_chains();
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
    named |= event->kind == EVENT_RUNTIME_CODE;
}

static void begin(void)
{
    pthread_t thread;
    job = aligned_alloc(4096, sizeof *job);
    memset(job, 0, sizeof *job);
    if (pthread_create(&thread, NULL, scribbler, job))
        abort();
    /* What an honest executor answers has its name: so does what comes near it. */
    struct remote_python *python = remote_python_new((uint32_t)getpid(), NAMES);
    struct sink sink = {.tap = see};
    const struct capture_process process = {.pid = PID, .start = 1};
    const struct native_chain native = {.depth = 1, .cut = true};
    uint64_t frames[2];
    python_memory_make();
    remote_python_find(python);
    job->chains.count = job->chains.of[0] = job->chains.items[0].depth = 1;
    job->chains.items[0].frames[0] = (struct executor_frame){place(CODE), place(CODE) + 184 + 2, 1};
    remote_python_chain(python, &sink, &process, job, 0, &native, frames, 2);
    remote_python_free(python);
    if (!named)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct outside outside;
    static const struct source_listener listener;
    const struct capture_options options = {.burst = BURST, .loads = true, .stores = true};
    struct remote_python *python = remote_python_new((uint32_t)getpid(), NAMES);
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
    struct outside_process process = {
        .pid = PID, .heap = glibc_heap_new(PID, 1), .python = python, .executor = (struct executor_client *)1};
    struct outside_thread thread = {.tid = PID + 1, .has_stack = true, .stack_high = UINT64_MAX};
    struct rule_files *files = rule_files_new(1);
    process.rules = remote_rules_new(PID, files);
    python_memory_make();
    remote_python_find(python);
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
    remote_rules_free(process.rules);
    rule_files_free(files);
    glibc_heap_free(process.heap);
    map64_free(&outside.refused);
    running_free(&running);
    process_table_free(&processes);
    return 0;
}
