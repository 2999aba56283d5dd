#include "lib/numap/numap_measure.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    BURST = 8,           /* samples that the soft sampler takes at a time */
    SHORTEST_NS = 50000, /* of CPU time between bursts: see numalens/capture.h */
    LONGEST_NS = 20000000,
    BUDGET = 50000, /* 5 % of the threads' time: clients ask for many samples */
};

struct measure {
    struct measure *next;
    const void *key;
    struct measure_request request; /* with tids of its own */
    nlens_session *session;
    struct perf_event_mmap_page **pages;
    uint64_t *lost;  /* of each thread, not yet reported in its pages */
    unsigned *until; /* of each thread: samples left until the next call */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the list */
static struct measure *measures;

/* The thread is in here, so a handler must not be; and: it is in a handler of ours. */
static __thread volatile int inside, handling;
static __thread char reason[1024];

const char *measure_reason(void)
{
    return reason;
}

void measure_set_reason(const char *text)
{
    snprintf(reason, sizeof reason, "%s", text);
}

static struct measure *find(const void *key)
{
    pthread_mutex_lock(&lock);
    struct measure *measure = measures;
    while (measure && measure->key != key)
        measure = measure->next;
    pthread_mutex_unlock(&lock);
    return measure;
}

bool measure_is_open(const void *key)
{
    inside++;
    bool open = find(key) != NULL;
    inside--;
    return open;
}

/* On the sampled thread. */
static void on_call(int signal, siginfo_t *info, void *context)
{
    (void)signal;
    (void)context;
    int saved = errno;
    if (info->si_code != SI_QUEUE || inside || handling)
        return;
    handling = 1;
    inside++;
    struct measure *measure = find(info->si_value.sival_ptr);
    inside--;
    pid_t tid = (pid_t)syscall(SYS_gettid);
    for (unsigned i = 0; measure && i < measure->request.threads; i++)
        if (measure->request.tids[i] == tid)
            measure->request.call((void *)measure->key, i);
    handling = 0;
    errno = saved;
}

static void call_thread(const struct measure *measure, pid_t tid)
{
    siginfo_t info;
    memset(&info, 0, sizeof info);
    info.si_signo = SIGIO;
    info.si_code = SI_QUEUE;
    info.si_pid = getpid();
    info.si_value.sival_ptr = (void *)measure->key;
    syscall(SYS_rt_tgsigqueueinfo, getpid(), tid, SIGIO, &info);
}

static void take_samples(void *context, const nlens_sample *samples, size_t count)
{
    struct measure *measure = context;
    const struct measure_request *request = &measure->request;
    for (size_t i = 0; i < count; i++) {
        unsigned thread = 0;
        while (thread < request->threads && (uint32_t)request->tids[thread] != samples[i].tid)
            thread++;
        if (thread == request->threads)
            continue;
        pages_put(measure->pages[thread], &samples[i], request->sample_type, request->rate, &measure->lost[thread]);
        if (request->refresh && --measure->until[thread] == 0) {
            measure->until[thread] = request->refresh;
            call_thread(measure, request->tids[thread]);
        }
    }
}

static void forget(struct measure *measure)
{
    nlens_session_close(measure->session, NULL);
    for (unsigned i = 0; measure->pages && i < measure->request.threads; i++)
        pages_free(measure->pages[i]);
    free((pid_t *)measure->request.tids);
    free(measure->pages);
    free(measure->lost);
    free(measure->until);
    free(measure);
}

static int fail(struct measure *measure, int code, const char *text)
{
    measure_set_reason(text);
    forget(measure);
    return code;
}

static int add_threads(struct measure *measure, nlens_error *err)
{
    for (unsigned i = 0; i < measure->request.threads; i++) {
        int code = nlens_session_add_thread(measure->session, measure->request.tids[i], err);
        if (code < 0)
            return code;
    }
    return 0;
}

static int make(const void *key, const struct measure_request *request, struct perf_event_mmap_page **pages)
{
    nlens_error err = {0};
    uint64_t spacing = (uint64_t)request->rate * BURST; /* an access takes about a nanosecond */
    nlens_session_options options = {
        .size = sizeof options,
        .wanted = request->wanted,
        .period_ns = spacing < SHORTEST_NS  ? SHORTEST_NS
                     : spacing > LONGEST_NS ? LONGEST_NS
                                            : spacing,
        .period = request->rate,
        .budget = BUDGET,
        .samples = take_samples,
    };
    struct measure *measure = calloc(1, sizeof *measure);
    if (!measure)
        return -ENOMEM;
    measure->key = key;
    measure->request = *request;
    pid_t *tids = calloc(request->threads, sizeof *tids);
    measure->request.tids = tids;
    measure->pages = calloc(request->threads, sizeof *measure->pages);
    measure->lost = calloc(request->threads, sizeof *measure->lost);
    measure->until = calloc(request->threads, sizeof *measure->until);
    if (!tids || !measure->pages || !measure->lost || !measure->until)
        return fail(measure, -ENOMEM, "out of memory");
    for (unsigned i = 0; i < request->threads; i++) {
        tids[i] = request->tids[i];
        measure->until[i] = request->refresh;
        if (!(measure->pages[i] = pages[i] = pages_make(request->pages)))
            return fail(measure, -ENOMEM, "no memory for the pages of samples: mmap_pages_count is too large");
    }
    options.context = measure;
    measure->session = nlens_session_new(&options, &err);
    if (!measure->session || add_threads(measure, &err) < 0)
        return fail(measure, err.code, err.text);
    pthread_mutex_lock(&lock);
    measure->next = measures;
    measures = measure;
    pthread_mutex_unlock(&lock);
    return 0;
}

int measure_open(const void *key, const struct measure_request *request, struct perf_event_mmap_page **pages)
{
    if (request->sample_type & ~(uint64_t)PAGES_SAMPLE_TYPES) {
        measure_set_reason("sample_type asks for fields that samples do not have here: docs/library.md lists them");
        return -EINVAL;
    }
    if (request->refresh) {
        struct sigaction action = {.sa_sigaction = on_call, .sa_flags = SA_SIGINFO | SA_RESTART};
        sigaction(SIGIO, &action, NULL);
    }
    inside++;
    int code = make(key, request, pages);
    inside--;
    return code;
}

static int start_or_stop(const void *key, bool start)
{
    nlens_error err = {0};
    inside++;
    struct measure *measure = find(key);
    int code = !measure ? -EINVAL
               : start  ? nlens_session_start(measure->session, &err)
                        : nlens_session_stop(measure->session, &err);
    if (code == 0 && !start && !handling)
        code = nlens_session_flush(measure->session, &err);
    if (code < 0)
        measure_set_reason(measure ? err.text : "the measure was not started");
    inside--;
    return code;
}

int measure_start(const void *key)
{
    return start_or_stop(key, true);
}

int measure_stop(const void *key)
{
    return start_or_stop(key, false);
}

void measure_close(const void *key)
{
    inside++;
    pthread_mutex_lock(&lock);
    struct measure **link = &measures;
    while (*link && (*link)->key != key)
        link = &(*link)->next;
    struct measure *measure = *link;
    if (measure)
        *link = measure->next;
    pthread_mutex_unlock(&lock);
    if (measure)
        forget(measure);
    inside--;
}
