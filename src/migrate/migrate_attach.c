#include "migrate/migrate_attach.h"

#include "base/array.h"
#include "base/clock.h"
#include "migrate/source.h"
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

enum { ROUND_MS = 100 }; /* threads are looked for, buffers are drained */

struct known_thread {
    uint32_t tid;
    bool here;
};

struct attached {
    uint32_t pid;
    struct source source;
    struct loop *loop;
    struct attach_result *result;
    array_of(struct known_thread) threads; /* in order of their numbers */
    uint64_t intervals;                    /* that the source knows of */
    struct error thread_failure;           /* the first thread that could not be watched */
};

static void take(void *context, const struct event *event)
{
    struct attached *attached = context;
    attached->result->samples++;
    loop_event(attached->loop, event);
}

static int by_tid(const void *a, const void *b)
{
    const struct known_thread *one = a, *other = b;
    return one->tid < other->tid ? -1 : one->tid > other->tid;
}

static struct known_thread *find_thread(struct attached *attached, uint32_t tid)
{
    struct known_thread key = {.tid = tid};
    return attached->threads.count ? bsearch(&key, attached->threads.items, attached->threads.count, sizeof key, by_tid)
                                   : NULL;
}

static void forget_gone(struct attached *attached)
{
    size_t to = 0;
    for (size_t i = 0; i < attached->threads.count; i++) {
        struct known_thread thread = attached->threads.items[i];
        if (thread.here)
            attached->threads.items[to++] = thread;
        else
            attached->source.end(attached->source.context, thread.tid); /* drained a moment ago */
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
    forget_gone(attached);
    array_each (&fresh, uint32_t, tid) {
        struct error err = {0};
        if (attached->source.begin(attached->source.context, *tid, &err) < 0 && !attached->thread_failure.code)
            attached->thread_failure = err;
        attached->result->threads++;
        array_push(&attached->threads, (struct known_thread){*tid, true});
    }
    array_free(&fresh);
    array_sort(&attached->threads, by_tid);
}

static void round_once(struct attached *attached)
{
    attached->source.drain(attached->source.context, take, attached);
    find_threads(attached);
    uint64_t due = loop_due(attached->loop);
    bool wanted = loop_round(attached->loop, clock_now_ns(), attached->source.cost_ns(attached->source.context));
    if (loop_due(attached->loop) != due)
        attached->source.interval(attached->source.context, wanted);
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
        round_once(attached);
        uint64_t now = clock_now_ns(), due = loop_due(attached->loop);
        uint64_t left = due > now ? (due - now) / 1000000 + 1 : 1;
        if (poll(waits, 2, left < ROUND_MS ? (int)left : ROUND_MS) < 0 && errno != EINTR)
            return;
        attached->result->ended = waits[0].revents != 0;
        struct signalfd_siginfo taken; /* or it would hit us once it is open again */
        if (waits[0].revents || (waits[1].revents && read(signals, &taken, sizeof taken) != 0))
            return;
    }
}

int attach_run(uint32_t pid, double budget, const struct loop_options *options, const struct loop_listener *listener,
               struct attach_result *result, struct loop_summary *summary, struct error *err)
{
    struct attached attached = {.pid = pid, .result = result};
    sigset_t stops, old;
    *result = (struct attach_result){0};
    int code = check_process(pid, err), process = -1, signals = -1;
    if (code < 0 || (code = source_faults_open(&attached.source, pid, budget, err)) < 0)
        return code;
    memcpy(result->sees, attached.source.sees, sizeof result->sees);
    memcpy(result->lacks, attached.source.lacks, sizeof result->lacks);
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
        attached.source.interval(attached.source.context, true);
        wait_and_move(&attached, process, signals);
        attached.source.drain(attached.source.context, take, &attached);
    }
    if (attached.loop)
        loop_finish(attached.loop, clock_now_ns(), code == 0 ? summary : NULL);
    result->lost = attached.source.lost(attached.source.context);
    if (attached.thread_failure.code && !*result->lacks)
        snprintf(result->lacks, sizeof result->lacks, "some threads could not be watched: %.280s",
                 attached.thread_failure.text);
    attached.source.close(attached.source.context);
    array_free(&attached.threads);
    if (process >= 0)
        close(process);
    if (signals >= 0)
        close(signals);
    sigprocmask(SIG_SETMASK, &old, NULL);
    return code;
}
