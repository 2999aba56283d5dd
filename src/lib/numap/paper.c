/* lib/numap/paper.c - numalens/paper.h. */
#include "base/units.h"
#include "lib/numap/numap_measure.h"

#include "numalens/paper.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Where a count_session keeps what is behind it. */
enum { FD_COUNTING, FD_WRITES, FDS };

const char *error_message(int error)
{
    return numap_error_message(error);
}

int init_samp_session(struct samp_session *ses, int nb_threads, int sampling_rate, int mmap_pages_count)
{
    memset(ses, 0, sizeof *ses);
    if (nb_threads < 1 || sampling_rate < 1 || mmap_pages_count < 1) {
        measure_set_reason("threads, a sampling rate and a number of pages above 0 are needed");
        return ERROR_PERF_EVENT_OPEN;
    }
    measure_close(ses);
    ses->tids = calloc((size_t)nb_threads, sizeof *ses->tids);
    ses->metadatas = calloc((size_t)nb_threads, sizeof *ses->metadatas);
    ses->fd_per_tid = calloc((size_t)nb_threads, sizeof *ses->fd_per_tid);
    if (!ses->tids || !ses->metadatas || !ses->fd_per_tid) {
        measure_set_reason("out of memory");
        return ERROR_PERF_EVENT_OPEN;
    }
    ses->nb_threads = (unsigned)nb_threads;
    ses->sampling_rate = (unsigned)sampling_rate;
    ses->mmap_pages_count = (unsigned)mmap_pages_count;
    ses->page_size = (size_t)sysconf(_SC_PAGESIZE);
    ses->mmap_len = ses->page_size * (1 + (size_t)mmap_pages_count);
    for (int i = 0; i < nb_threads; i++)
        ses->fd_per_tid[i] = -1;
    return 0;
}

/* Samples of a session are of one direction: another start begins with new pages. */
static int start(struct samp_session *s, unsigned wanted)
{
    measure_close(s);
    const struct measure_request request = {
        .wanted = wanted,
        .threads = s->nb_threads,
        .tids = s->tids,
        .rate = s->sampling_rate,
        .pages = s->mmap_pages_count,
        .sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_ADDR | PERF_SAMPLE_WEIGHT | PERF_SAMPLE_DATA_SRC,
    };
    if (measure_open(s, &request, s->metadatas) < 0 || measure_start(s) < 0)
        return wanted == NLENS_READS ? ERROR_NUMAP_READ_SAMPLING_ARCH_NOT_SUPPORTED
                                     : ERROR_NUMAP_WRITE_SAMPLING_ARCH_NOT_SUPPORTED;
    return 0;
}

int samp_read_start(struct samp_session *s)
{
    return start(s, NLENS_READS);
}

int samp_write_start(struct samp_session *s)
{
    return start(s, NLENS_WRITES);
}

int samp_read_stop(struct samp_session *s)
{
    return measure_stop(s) < 0 ? ERROR_NUMAP_STOP_BEFORE_START : 0;
}

int samp_write_stop(struct samp_session *s)
{
    return samp_read_stop(s);
}

struct list {
    struct samp *items;
    int count, room;
    bool failed;
};

static void add(void *context, const struct sample *sample)
{
    struct list *list = context;
    if (list->count == list->room) {
        int room = list->room ? list->room * 2 : 256;
        struct samp *items = realloc(list->items, (size_t)room * sizeof *items);
        if (!items) {
            list->failed = true;
            return;
        }
        list->items = items;
        list->room = room;
    }
    list->items[list->count++] = (struct samp){sample->ip, sample->addr, sample->weight, sample->data_src};
}

int cpy_samples(struct samp_session *s, struct samp **dest, int *nb_sp)
{
    struct list list = {0};
    *dest = NULL;
    *nb_sp = 0;
    if (!measure_is_open(s)) {
        measure_set_reason("nothing was sampled yet");
        return ERROR_NUMAP_STOP_BEFORE_START;
    }
    for (unsigned i = 0; i < s->nb_threads; i++)
        pages_each(s->metadatas[i], add, &list);
    if (list.failed) {
        free(list.items);
        measure_set_reason("out of memory");
        return ERROR_READ;
    }
    *dest = list.items;
    *nb_sp = list.count;
    return 0;
}

int samp_cpy(struct samp_session *s, struct samp **dest, int *nb_sp)
{
    return cpy_samples(s, dest, nb_sp);
}

static int print(File *f, struct samp_session *s, const char *what)
{
    struct samp *samples;
    int count, code = cpy_samples(s, &samples, &count);
    if (code < 0)
        return code;
    fprintf(f, "%d %s sampled\n", count, what);
    for (int i = 0; i < count; i++) {
        char *level = get_data_src_level(samples[i].data_src);
        fprintf(f, "pc=%" PRIx64 ", @=%" PRIx64 ", src level=%s, latency=%" PRIu64 "\n", samples[i].ip, samples[i].addr,
                level ? level : "", samples[i].weight);
        free(level);
    }
    free(samples);
    return 0;
}

int print_rd(File *f, struct samp_session *s)
{
    return print(f, s, "reads");
}

int print_wr(File *f, struct samp_session *s)
{
    return print(f, s, "writes");
}

int init_count_session(struct count_session *ses, int nb_nodes, int *nodes)
{
    nlens_error err;
    memset(ses, 0, sizeof *ses);
    nlens_counting *counting = nb_nodes > 0 ? nlens_counting_new(&err) : NULL;
    if (!counting) {
        measure_set_reason(nb_nodes > 0 ? err.text : "at least one node is needed");
        return ERROR_NUMAP_NOT_NUMA;
    }
    ses->nb_nodes = (unsigned)nb_nodes;
    ses->nodes = calloc((size_t)nb_nodes, sizeof *ses->nodes);
    ses->fds = calloc(FDS, sizeof *ses->fds);
    if (!ses->nodes || !ses->fds) {
        nlens_counting_close(counting);
        measure_set_reason("out of memory");
        return ERROR_NUMAP_NOT_NUMA;
    }
    memcpy(ses->nodes, nodes, (size_t)nb_nodes * sizeof *nodes);
    ses->fds[FD_COUNTING] = (long)counting;
    return 0;
}

static int count(struct count_session *s, bool start_it, long writes)
{
    nlens_error err;
    nlens_counting *counting = s->fds ? (nlens_counting *)s->fds[FD_COUNTING] : NULL;
    if (!counting) {
        measure_set_reason("init_count_session failed or was not called");
        return ERROR_NUMAP_NOT_NUMA;
    }
    s->fds[FD_WRITES] = writes;
    if (start_it)
        return nlens_counting_start(counting, &err) < 0 ? ERROR_NUMAP_ALREADY_STARTED : 0;
    return nlens_counting_stop(counting, &err) < 0 ? ERROR_NUMAP_STOP_BEFORE_START : 0;
}

int count_read_start(struct count_session *s)
{
    return count(s, true, 0);
}

int count_read_stop(struct count_session *s)
{
    return count(s, false, 0);
}

int count_write_start(struct count_session *s)
{
    return count(s, true, 1);
}

int count_write_stop(struct count_session *s)
{
    return count(s, false, 1);
}

static bool is_asked_for(const struct count_session *s, int node)
{
    for (unsigned i = 0; i < s->nb_nodes; i++)
        if (s->nodes[i] == node)
            return true;
    return false;
}

long get_count(struct count_session *s)
{
    nlens_error err;
    double bytes = 0;
    nlens_counting *counting = s->fds ? (nlens_counting *)s->fds[FD_COUNTING] : NULL;
    for (size_t i = 0; counting && i < nlens_counting_nodes(counting); i++) {
        nlens_traffic traffic;
        if (nlens_counting_read(counting, i, &traffic, &err) < 0) {
            measure_set_reason(err.text);
            return ERROR_READ;
        }
        if (is_asked_for(s, traffic.node))
            bytes += s->fds[FD_WRITES] ? traffic.writes : traffic.reads;
    }
    return counting ? (long)(bytes / CACHE_LINE) : ERROR_NUMAP_NOT_NUMA;
}
