#include "migrate/migrate_attach.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/order.h"
#include "capture/faults/thread_faults.h"
#include "topology/home.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { STEP_MS = SOURCE_TEND_NS / 1000000 }; /* threads are looked for, buffers are drained */

struct known_thread {
    uint32_t tid;
    bool here;
};

struct attached {
    uint32_t pid;
    struct sources sources;
    struct sink sink;
    struct loop *loop;
    struct attach_result *result;
    array_of(struct known_thread) threads; /* in order of their numbers */
    uint64_t intervals;                    /* that the source knows of */
    struct error thread_failure;           /* the first thread that could not be watched */
};

static void take(void *context, const struct event *event)
{
    struct attached *attached = context;
    if (event->kind == EVENT_SAMPLE)
        loop_event(attached->loop, event);
}

ORDER_BY(by_tid, struct known_thread, ORDER(a->tid, b->tid))

static struct known_thread *find_thread(struct attached *attached, uint32_t tid)
{
    struct known_thread key = {.tid = tid};
    return attached->threads.count ? bsearch(&key, attached->threads.items, attached->threads.count, sizeof key, by_tid)
                                   : NULL;
}

static void forget_ended(struct attached *attached)
{
    size_t to = 0;
    for (size_t i = 0; i < attached->threads.count; i++) {
        struct known_thread thread = attached->threads.items[i];
        if (thread.here)
            attached->threads.items[to++] = thread;
        else
            sources_unwatch(&attached->sources, thread.tid); /* drained a moment ago */
    }
    attached->threads.count = to;
}

/* Threads that came and went since the last look. Call right after a drain. */
static void find_threads(struct attached *attached)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%u/task", attached->pid);
    DIR *folder = opendir(path);
    array_of(uint32_t) fresh = {0};
    if (!folder)
        return;
    array_each (&attached->threads, struct known_thread, thread)
        thread->here = false;
    for (const struct dirent *entry; (entry = readdir(folder));) {
        uint32_t tid = (uint32_t)strtoul(entry->d_name, NULL, 10);
        struct known_thread *known = tid ? find_thread(attached, tid) : NULL;
        if (known)
            known->here = true;
        else if (tid)
            array_push(&fresh, tid);
    }
    closedir(folder);
    forget_ended(attached);
    array_each (&fresh, uint32_t, tid) {
        struct error err = {0};
        if (sources_watch(&attached->sources, *tid, &err) < 0 && !attached->thread_failure.code)
            attached->thread_failure = err;
        attached->result->threads++;
        array_push(&attached->threads, (struct known_thread){*tid, true});
    }
    array_free(&fresh);
    array_sort(&attached->threads, by_tid);
}

static void step_once(struct attached *attached)
{
    struct source_level level;
    sources_drain(&attached->sources, clock_now_ns(), &level);
    find_threads(attached);
    uint64_t due = loop_due(attached->loop);
    bool wanted = loop_step(attached->loop, clock_now_ns(), sources_cost_ns(&attached->sources));
    if (loop_due(attached->loop) != due)
        sources_want(&attached->sources, wanted);
}

static int check_process(uint32_t pid, struct error *err)
{
    uint64_t anywhere = 4096;
    int32_t node;
    if (kill((pid_t)pid, 0) < 0 && errno == ESRCH)
        return error_set(err, -ESRCH, "there is no process %u", pid);
    return home_query((pid_t)pid, &anywhere, 1, &node, err);
}

static void wait_and_move(struct attached *attached, int process, int signals)
{
    struct pollfd waits[] = {{.fd = process, .events = POLLIN}, {.fd = signals, .events = POLLIN}};
    for (;;) {
        step_once(attached);
        uint64_t now = clock_now_ns(), due = loop_due(attached->loop);
        uint64_t remaining_ms = due > now ? (due - now) / 1000000 + 1 : 1;
        if (poll(waits, 2, remaining_ms < STEP_MS ? (int)remaining_ms : STEP_MS) < 0 && errno != EINTR)
            return;
        attached->result->ended = waits[0].revents != 0;
        struct signalfd_siginfo taken; /* or it would hit us once it is open again */
        if (waits[0].revents || (waits[1].revents && read(signals, &taken, sizeof taken) != 0))
            return;
    }
}

static int open_sources(struct attached *attached, double budget, struct error *err)
{
    attached->sink = (struct sink){.tap = take, .tap_context = attached};
    struct thread_faults *faults = thread_faults_new(attached->pid, budget, &attached->sink);
    struct source source = thread_faults_source(faults);
    source.needed = true;
    int code = sources_open(&attached->sources, source, err);
    if (code < 0)
        return code;
    const struct thread_faults_means *means = thread_faults_means(faults);
    memcpy(attached->result->sees, means->sees, sizeof means->sees);
    memcpy(attached->result->lacks, means->lacks, sizeof means->lacks);
    return 0;
}

int attach_run(uint32_t pid, double budget, const struct loop_options *options, const struct loop_listener *listener,
               struct attach_result *result, struct loop_summary *summary, struct error *err)
{
    struct attached attached = {.pid = pid, .result = result};
    sigset_t stops, old;
    *result = (struct attach_result){0};
    int code = check_process(pid, err), process = -1, signals = -1;
    if (code < 0 || (code = open_sources(&attached, budget, err)) < 0)
        return code;
    sigemptyset(&stops);
    sigaddset(&stops, SIGINT);
    sigaddset(&stops, SIGTERM);
    sigaddset(&stops, SIGHUP);
    sigprocmask(SIG_BLOCK, &stops, &old);
    signals = signalfd(-1, &stops, SFD_CLOEXEC);
    process = (int)syscall(SYS_pidfd_open, pid, 0);
    attached.loop = loop_new(options, listener, err);
    if (!attached.loop) {
        code = err->code;
    } else if (process < 0) {
        code = error_set(err, -errno, "process %u: %s", pid, errno == ESRCH ? "it has ended" : strerror(errno));
    } else {
        struct event begins = {.time = clock_now_ns(), .pid = pid, .tid = pid, .kind = EVENT_PROCESS_START};
        loop_event(attached.loop, &begins);
        sources_want(&attached.sources, true);
        wait_and_move(&attached, process, signals);
        sources_finish(&attached.sources);
    }
    if (attached.loop)
        loop_finish(attached.loop, clock_now_ns(), code == 0 ? summary : NULL);
    result->samples = attached.sink.counts[EVENT_SAMPLE];
    result->lost = attached.sink.lost[LOSS_PERF];
    if (attached.thread_failure.code && !*result->lacks)
        snprintf(result->lacks, sizeof result->lacks, "some threads could not be watched: %.280s",
                 attached.thread_failure.text);
    sources_close(&attached.sources);
    array_free(&attached.threads);
    if (process >= 0)
        close(process);
    if (signals >= 0)
        close(signals);
    sigprocmask(SIG_SETMASK, &old, NULL);
    return code;
}
