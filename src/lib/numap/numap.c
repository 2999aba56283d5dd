/* lib/numap/numap.c - numap.h: measures of sampling and counting. */
#include "numap.h"

#include "lib/numap/numap_measure.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { REFRESH = 1000 };

static const uint64_t usual_fields = PERF_SAMPLE_IP | PERF_SAMPLE_ADDR | PERF_SAMPLE_WEIGHT | PERF_SAMPLE_DATA_SRC;

const char *numap_error_message(int error)
{
    static __thread char text[1200];
    const char *what;
    switch (error) {
    case ERROR_PERF_EVENT_OPEN:
        what = "sampling cannot be started: ";
        break;
    case ERROR_NUMAP_NOT_NUMA:
        what = "memory traffic cannot be counted: ";
        break;
    case ERROR_NUMAP_ALREADY_STARTED:
        return "libnumap: start called again before stop";
    case ERROR_NUMAP_STOP_BEFORE_START:
        return "libnumap: stop called before start";
    case ERROR_NUMAP_ARCH_NOT_SUPPORTED:
        return "libnumap: this processor is not supported";
    case ERROR_NUMAP_READ_SAMPLING_ARCH_NOT_SUPPORTED:
        what = "reads cannot be sampled: ";
        break;
    case ERROR_NUMAP_WRITE_SAMPLING_ARCH_NOT_SUPPORTED:
        what = "writes cannot be sampled: ";
        break;
    case ERROR_READ:
        what = "a counter cannot be read: ";
        break;
    default:
        return "libnumap: unknown error";
    }
    snprintf(text, sizeof text, "libnumap: %s%s", what, measure_reason());
    return text;
}

/* A client that stands in front of pthread_create() and malloc() comes here for the library's own thread too. There is
 * nothing to be done then, and nothing wrong: its measures have no threads. */
static int is_nobody(void)
{
    return nlens_is_own_thread();
}

int numap_init(void)
{
    return 0;
}

int numap_sampling_read_supported(void)
{
    return 1;
}

int numap_sampling_write_supported(void)
{
    return 1;
}

int numap_sampling_init_measure(struct numap_sampling_measure *measure, int nb_threads, int sampling_rate,
                                int mmap_pages_count)
{
    memset(measure, 0, sizeof *measure);
    if (nb_threads < 1 || nb_threads > MAX_NB_THREADS || sampling_rate < 1 || mmap_pages_count < 1) {
        measure_set_reason("1 to 24 threads, a sampling rate and a number of pages above 0 are needed");
        return ERROR_PERF_EVENT_OPEN;
    }
    measure_close(measure); /* of one that was here before and never ended */
    measure->nb_threads = is_nobody() ? 0 : (unsigned)nb_threads;
    measure->sampling_rate = (unsigned)sampling_rate;
    measure->mmap_pages_count = (unsigned)mmap_pages_count;
    measure->page_size = (size_t)sysconf(_SC_PAGESIZE);
    measure->mmap_len = measure->page_size * (1 + (size_t)mmap_pages_count);
    measure->nb_refresh = REFRESH;
    for (int i = 0; i < nb_threads; i++)
        measure->fd_per_tid[i] = -1;
    return 0;
}

int numap_sampling_set_measure_handler(struct numap_sampling_measure *measure,
                                       void (*handler)(struct numap_sampling_measure *, int), int nb_refresh)
{
    if (measure->started)
        return ERROR_NUMAP_ALREADY_STARTED;
    if (nb_refresh < 1) {
        measure_set_reason("nb_refresh must be above 0");
        return ERROR_PERF_EVENT_OPEN;
    }
    measure->handler = handler;
    measure->nb_refresh = nb_refresh;
    return 0;
}

static void call_handler(void *key, unsigned thread)
{
    struct numap_sampling_measure *measure = key;
    measure->handler(measure, (int)measure->fd_per_tid[thread]);
    measure->total_samples += measure->nb_refresh;
}

static int resume(struct numap_sampling_measure *measure)
{
    if (measure_start(measure) < 0)
        return ERROR_PERF_EVENT_OPEN;
    measure->started = 1;
    return 0;
}

static int start(struct numap_sampling_measure *measure, unsigned wanted, uint64_t sample_type, int failed)
{
    if (is_nobody())
        return 0;
    if (measure->started)
        return ERROR_NUMAP_ALREADY_STARTED;
    if (!measure->metadata_pages_per_tid[0]) {
        const struct measure_request request = {
            .wanted = wanted,
            .threads = measure->nb_threads,
            .tids = measure->tids,
            .rate = measure->sampling_rate,
            .pages = measure->mmap_pages_count,
            .sample_type = sample_type,
            .refresh = measure->handler ? (unsigned)measure->nb_refresh : 0,
            .call = call_handler,
        };
        int code = measure_open(measure, &request, measure->metadata_pages_per_tid);
        if (code < 0) {
            memset(measure->metadata_pages_per_tid, 0, sizeof measure->metadata_pages_per_tid);
            return code == -ESRCH || code == -EINVAL ? ERROR_PERF_EVENT_OPEN : failed;
        }
    }
    return resume(measure);
}

int numap_sampling_read_start_generic(struct numap_sampling_measure *measure, uint64_t sample_type)
{
    return start(measure, NLENS_READS, sample_type, ERROR_NUMAP_READ_SAMPLING_ARCH_NOT_SUPPORTED);
}

int numap_sampling_read_start(struct numap_sampling_measure *measure)
{
    return numap_sampling_read_start_generic(measure, usual_fields);
}

int numap_sampling_write_start_generic(struct numap_sampling_measure *measure, uint64_t sample_type)
{
    return start(measure, NLENS_WRITES, sample_type, ERROR_NUMAP_WRITE_SAMPLING_ARCH_NOT_SUPPORTED);
}

int numap_sampling_write_start(struct numap_sampling_measure *measure)
{
    return numap_sampling_write_start_generic(measure, usual_fields);
}

int numap_sampling_resume(struct numap_sampling_measure *measure)
{
    if (is_nobody())
        return 0;
    return measure->started ? ERROR_NUMAP_ALREADY_STARTED : resume(measure);
}

int numap_sampling_read_stop(struct numap_sampling_measure *measure)
{
    if (is_nobody())
        return 0;
    if (!measure->started)
        return ERROR_NUMAP_STOP_BEFORE_START;
    measure->started = 0;
    return measure_stop(measure) < 0 ? ERROR_PERF_EVENT_OPEN : 0;
}

int numap_sampling_write_stop(struct numap_sampling_measure *measure)
{
    return numap_sampling_read_stop(measure);
}

int numap_sampling_end(struct numap_sampling_measure *measure)
{
    measure_close(measure);
    memset(measure->metadata_pages_per_tid, 0, sizeof measure->metadata_pages_per_tid);
    measure->started = 0;
    return 0;
}
