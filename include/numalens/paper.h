/* numalens/paper.h - the functions of "numap: A Portable Library For Low Level Memory Profiling" (Selva, Morel, Marquet,
 * 2016) by the names that the paper prints in its figures 7 to 9. Link with libnumap (pkg-config numap).
 *
 * Functions return 0 or a negative number for error_message. New programs use numalens/capture.h. */
#ifndef NUMALENS_PAPER_H
#define NUMALENS_PAPER_H

#ifndef __PERFMON_PERF_EVENT_H__ /* libpfm4 has a copy, which numap.h includes; both together do not compile */
#include <linux/perf_event.h>
#endif
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Names that other libraries have too: in libnumap they begin with numap_. */
#define NUMAP_PAPER_SYMBOL(name) __asm__("numap_" #name)

typedef FILE File; /* as the paper spells it */

struct samp_session {
    /* the caller's, before the start. init_samp_session makes room for the tids */
    unsigned int nb_threads;
    pid_t *tids;
    unsigned int sampling_rate;
    unsigned int mmap_pages_count;

    /* where to find the samples */
    struct perf_event_mmap_page **metadatas;

    /* the library's */
    size_t page_size;
    size_t mmap_len;
    long *fd_per_tid;
};

struct samp {
    uint64_t ip;
    uint64_t addr;
    uint64_t weight; /* latency: ns from the soft sampler, else cycles */
    union perf_mem_data_src data_src;
};

struct count_session {
    unsigned int nb_nodes;
    int *nodes;
    long *fds; /* the library's */
};

int init_samp_session(struct samp_session *ses, int nb_threads, int sampling_rate, int mmap_pages_count);

int samp_read_start(struct samp_session *s);
int samp_read_stop(struct samp_session *s);
int samp_write_start(struct samp_session *s);
int samp_write_stop(struct samp_session *s);

int print_rd(File *f, struct samp_session *s);
int print_wr(File *f, struct samp_session *s);

/* A list for the caller to free. The text of the paper calls the function samp_cpy, its figure cpy_samples. */
int cpy_samples(struct samp_session *s, struct samp **dest, int *nb_sp) NUMAP_PAPER_SYMBOL(cpy_samples);
int samp_cpy(struct samp_session *s, struct samp **dest, int *nb_sp);

/* The nodes' numbers are copied. */
int init_count_session(struct count_session *ses, int nb_nodes, int *nodes);
int count_read_start(struct count_session *s);
int count_read_stop(struct count_session *s);
int count_write_start(struct count_session *s);
int count_write_stop(struct count_session *s);

/* Lines of 64 bytes that the session's nodes read, or wrote, whichever was started last; negative on failure. */
long get_count(struct count_session *s) NUMAP_PAPER_SYMBOL(get_count);

const char *error_message(int error) NUMAP_PAPER_SYMBOL(paper_error_message);

#ifdef __cplusplus
}
#endif

#endif
