/* lib/sampling/sample_session.c - numalens/capture.h: sessions. */
#include "lib/sampling/sample_session.h"

#include "lib/api/api.h"
#include "base/bisect.h"
#include "base/clock.h"
#include "lib/sampling/session_engine.h"
#include "lib/sampling/soft.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { ROOM = 1 << 18, SHORTEST_NS = 50000 };

static int read_options(const nlens_session_options *given, nlens_session_options *options, struct error *err)
{
    int code = api_options_take(options, sizeof *options, given, "nlens_session_options", err);
    if (code < 0)
        return code;
    if (options->wanted & ~(unsigned)(NLENS_READS | NLENS_WRITES))
        return error_set(err, -EINVAL, "nlens_session_options.wanted is %u: NLENS_READS, NLENS_WRITES or both",
                         options->wanted);
    if (options->source < NLENS_SOURCE_AUTO || options->source > NLENS_SOURCE_SPE)
        return error_set(err, -EINVAL,
                         "nlens_session_options.source is %d: NLENS_SOURCE_AUTO, _HARDWARE, _SOFT, _PEBS, _IBS or _SPE",
                         options->source);
    if (options->period_ns && options->period_ns < SHORTEST_NS)
        return error_set(err, -EINVAL, "nlens_session_options.period_ns is %llu: 50000 is the least",
                         (unsigned long long)options->period_ns);
    if (options->budget > 1000000)
        return error_set(err, -EINVAL, "nlens_session_options.budget is %u: 1000000 is all of the CPU time",
                         options->budget);
    options->wanted = options->wanted ? options->wanted : NLENS_READS | NLENS_WRITES;
    options->period_ns = options->period_ns ? options->period_ns : SOFT_TICK_NS;
    options->budget = options->budget ? options->budget : SOFT_BUDGET_PPM;
    if (options->room == 0 && !options->samples)
        options->room = ROOM;
    return 0;
}

static int fail(nlens_error *to, const struct error *from)
{
    api_error(to, from);
    return from->code;
}

/* The command's remedy gives way to ours. */
static int explain(int source, const struct error *why, struct error *err)
{
    char cause[sizeof why->text];
    snprintf(cause, sizeof cause, "%s", why->text);
    char *remedy = strstr(cause, "--source");
    bool other = remedy && strncmp(remedy, "--source auto", 13) == 0;
    if (remedy && remedy - cause >= 2)
        remedy[-2] = '\0';
    if (source == NLENS_SOURCE_AUTO)
        return error_set(err, why->code, "%s", cause);
    return error_set(err, why->code, "%s; %s", cause,
                     other ? "NLENS_SOURCE_AUTO takes it" : "NLENS_SOURCE_SOFT needs none");
}

/* Hardware where it is requested or works, else the soft sampler; `source` says which and why. */
static int choose_source(nlens_session *session, struct error *err)
{
    struct error why = {0};
    int source = session->options.source;
    if (source == NLENS_SOURCE_SOFT) {
        snprintf(session->source, sizeof session->source, "soft sampler, as requested");
        return 0;
    }
    session->hardware = hardware_new(&session->options, &why);
    if (session->hardware) {
        snprintf(session->source, sizeof session->source, "%s", hardware_choice(session->hardware)->how);
        return 0;
    }
    int code = explain(source, &why, err);
    if (source != NLENS_SOURCE_AUTO)
        return code;
    snprintf(session->source, sizeof session->source, "soft sampler (%s)", err->text);
    return 0;
}

static int make(nlens_session *session, const nlens_session_options *options, struct error *err)
{
    int code = read_options(options, &session->options, err);
    if (code < 0 || (code = choose_source(session, err)) < 0 || (code = engine_need(!session->hardware, err)) < 0)
        return code;
    session->overrun_before = engine_overrun();
    session->skipped_before = engine_skipped();
    struct capture_means means = *engine_means();
    if (session->hardware)
        hardware_describe(session->hardware, &means);
    size_t bytes;
    if (__builtin_mul_overflow(session->options.room, sizeof *session->room, &bytes) ||
        (bytes && !(session->room = malloc(bytes))))
        return error_set(err, -ENOMEM, "there is no memory for nlens_session_options.room, %zu samples: take fewer",
                         session->options.room);
    if (session->options.output && !(session->dump = dump_open(&session->options, means, err)))
        return err->code;
    return 0;
}

static nlens_session *new_session(const nlens_session_options *options, nlens_error *err)
{
    struct error why = {0};
    nlens_session *session = mem_zalloc(sizeof *session);
    pthread_mutexattr_t recursive; /* a callback may flush */
    pthread_mutexattr_init(&recursive);
    pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&session->delivery, &recursive);
    pthread_mutexattr_destroy(&recursive);
    if (make(session, options, &why) < 0) {
        fail(err, &why);
        pthread_mutex_destroy(&session->delivery);
        hardware_free(session->hardware);
        free(session->room);
        free(session);
        return NULL;
    }
    return session;
}

nlens_session *nlens_session_new_sized(const nlens_session_options *options, size_t sample_size, nlens_error *err)
{
    struct error why = {0};
    if (sample_size < NLENS_SAMPLE_LEAST || sample_size % _Alignof(nlens_sample) != 0) {
        error_set(&why, -EINVAL, "samples of %zu bytes: %d is the least, and only multiples of %zu", sample_size,
                  NLENS_SAMPLE_LEAST, _Alignof(nlens_sample));
        fail(err, &why);
        return NULL;
    }
    nlens_session *session = new_session(options, err);
    if (!session)
        return NULL;
    session->sample_size = sample_size;
    engine_add(session);
    return session;
}

/* For languages that cannot use the macro, and for programs that were compiled before there was one. */
nlens_session *(nlens_session_new)(const nlens_session_options *options, nlens_error *err)
{
    return nlens_session_new_sized(options, NLENS_SAMPLE_LEAST, err);
}

static bool is_our_thread(pid_t tid)
{
    return syscall(SYS_tgkill, getpid(), tid, 0) == 0;
}

static int check_process(struct error *err)
{
    if (!engine_is_ours())
        return error_set(err, -ECHILD, "a child made by fork() has no sessions");
    return 0;
}

int nlens_session_add_thread(nlens_session *session, pid_t number, nlens_error *err)
{
    struct error why = {0};
    pid_t tid = number ? number : (pid_t)syscall(SYS_gettid);
    if (check_process(&why) < 0)
        return fail(err, &why);
    if (tid < 0 || !is_our_thread(tid)) {
        error_set(&why, -ESRCH, "this process has no thread %d: give what gettid() returned in it", (int)tid);
        return fail(err, &why);
    }
    return engine_add_thread(session, (uint32_t)tid, &why) < 0 ? fail(err, &why) : 0;
}

int nlens_session_remove_thread(nlens_session *session, pid_t number, nlens_error *err)
{
    struct error why = {0};
    pid_t tid = number ? number : (pid_t)syscall(SYS_gettid);
    if (check_process(&why) < 0)
        return fail(err, &why);
    if (engine_remove_thread(session, (uint32_t)tid))
        return 0;
    error_set(&why, -ESRCH, "thread %d was not added to this session", (int)tid);
    return fail(err, &why);
}

int nlens_session_start(nlens_session *session, nlens_error *err)
{
    struct error why = {0};
    int due = 0;
    if (check_process(&why) < 0)
        return fail(err, &why);
    engine_lock();
    if (session->running)
        error_set(&why, -EALREADY, "the session runs already: nlens_session_stop comes first");
    else if (!session->options.whole_process && session->tids.count == 0)
        error_set(&why, -EINVAL, "the session has no threads: nlens_session_add_thread, or whole_process");
    if (why.code == 0) {
        session->running = true;
        array_push(&session->windows, (struct window){clock_now_ns(), UINT64_MAX});
        due = engine_started(session, &why);
        if (due < 0) {
            session->running = false;
            session->windows.count--;
        }
    }
    engine_unlock();
    if (due > 0)
        engine_wake();
    return why.code ? fail(err, &why) : 0;
}

static void stop(nlens_session *session)
{
    session->running = false;
    engine_stopped(session);
    session->windows.items[session->windows.count - 1].to = clock_now_ns();
}

int nlens_session_stop(nlens_session *session, nlens_error *err)
{
    struct error why = {0};
    if (check_process(&why) < 0)
        return fail(err, &why);
    engine_lock();
    if (session->running)
        stop(session);
    else
        error_set(&why, -EALREADY, "the session does not run: nlens_session_start comes first");
    engine_unlock();
    return why.code ? fail(err, &why) : 0;
}

static bool is_in_window(const nlens_session *session, uint64_t time)
{
    /* The last window that begins before, by halves: there may be thousands. */
    size_t low = bisect(session->windows.count, i, session->windows.items[i].from <= time);
    return low > 0 && time < session->windows.items[low - 1].to;
}

void session_offer(nlens_session *session, const struct taken *taken)
{
    const nlens_sample *sample = &taken->sample;
    const nlens_session_options *options = &session->options;
    bool wanted = (sample->read && options->wanted & NLENS_READS) || (sample->write && options->wanted & NLENS_WRITES);
    if (!wanted || (options->latency && sample->read && sample->latency < options->latency) ||
        !is_in_window(session, sample->time) || !(options->whole_process || map64_find(&session->tids, sample->tid)))
        return;
    struct taken numbered = *taken;
    numbered.sample.sequence = ++session->stats.samples;
    if (options->room && session->room_count == options->room) {
        session->stats.lost++;
    } else if (options->room) {
        session->room[(session->room_first + session->room_count) % options->room] = numbered.sample;
        session->room_count++;
    }
    if (options->samples || session->dump)
        array_push(&session->batch, numbered);
}

void session_forget_windows(nlens_session *session, uint64_t time)
{
    size_t passed = 0;
    while (passed < session->windows.count && session->windows.items[passed].to < time)
        passed++;
    if (passed == 0)
        return;
    session->windows.count -= passed;
    memmove(session->windows.items, session->windows.items + passed,
            session->windows.count * sizeof *session->windows.items);
}

/* Sample number `index` of an array of the client's, whose samples may have another size. */
static void put_sample(const nlens_session *session, void *samples, size_t index, const nlens_sample *sample)
{
    char *place = (char *)samples + index * session->sample_size;
    size_t known = session->sample_size < sizeof *sample ? session->sample_size : sizeof *sample;
    memcpy(place, sample, known);
    memset(place + known, 0, session->sample_size - known);
}

void session_deliver(nlens_session *session)
{
    if (!session->options.samples && !session->dump)
        return;
    pthread_mutex_lock(&session->delivery);
    engine_lock();
    taken_array batch = session->batch;
    memset(&session->batch, 0, sizeof session->batch);
    engine_unlock();
    if (session->dump && batch.count)
        dump_samples(session->dump, batch.items, batch.count);
    if (session->options.samples && batch.count) {
        nlens_sample *samples = mem_alloc(batch.count * session->sample_size);
        for (size_t i = 0; i < batch.count; i++)
            put_sample(session, samples, i, &batch.items[i].sample);
        session->options.samples(session->options.context, samples, batch.count);
        free(samples);
    }
    array_free(&batch);
    pthread_mutex_unlock(&session->delivery);
}

size_t nlens_session_read(nlens_session *session, nlens_sample *samples, size_t most)
{
    if (!engine_is_ours())
        return 0;
    engine_drain();
    engine_lock();
    size_t count = most < session->room_count ? most : session->room_count;
    for (size_t i = 0; i < count; i++)
        put_sample(session, samples, i, &session->room[(session->room_first + i) % session->options.room]);
    if (count)
        session->room_first = (session->room_first + count) % session->options.room;
    session->room_count -= count;
    engine_unlock();
    return count;
}

int nlens_session_flush(nlens_session *session, nlens_error *err)
{
    struct error why = {0};
    if (check_process(&why) < 0)
        return fail(err, &why);
    engine_drain();
    session_deliver(session);
    pthread_mutex_lock(&session->delivery);
    if (session->dump)
        dump_flush(session->dump, &why);
    pthread_mutex_unlock(&session->delivery);
    return why.code ? fail(err, &why) : 0;
}

void nlens_session_get_stats(nlens_session *session, nlens_session_stats *stats)
{
    *stats = (nlens_session_stats){0};
    if (!engine_is_ours())
        return;
    engine_lock();
    *stats = session->stats;
    engine_count_threads(session, &stats->threads, &stats->waiting);
    engine_unlock();
    stats->overrun = engine_overrun() - session->overrun_before;
    stats->skipped = engine_skipped() - session->skipped_before;
    pthread_mutex_lock(&session->delivery);
    stats->unwritten = session->dump ? dump_unwritten(session->dump) : 0;
    pthread_mutex_unlock(&session->delivery);
}

const char *nlens_session_source(nlens_session *session)
{
    return session->source;
}

int nlens_session_close(nlens_session *session, nlens_error *err)
{
    struct error why = {0};
    if (!session || !engine_is_ours())
        return 0;
    engine_lock();
    if (session->running)
        stop(session);
    engine_unlock();
    engine_drain();
    session_deliver(session);
    nlens_session_stats stats;
    nlens_session_get_stats(session, &stats);
    engine_remove(session);
    if (session->dump)
        dump_close(session->dump, &stats, &why);
    pthread_mutex_destroy(&session->delivery);
    array_free(&session->windows);
    array_free(&session->batch);
    map64_free(&session->tids);
    hardware_free(session->hardware);
    free(session->room);
    free(session);
    return why.code ? fail(err, &why) : 0;
}
