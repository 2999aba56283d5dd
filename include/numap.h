/* numap.h - numalens behind the interface of numap, the library for memory profiling by Selva, Morel and Marquet, as its
 * clients know it. A program written for numap builds and runs unchanged; see docs/library.md.
 *
 * The soft sampler of libnumalens fills the pages that clients walk, so that they work in any virtual machine and
 * without privileges. New programs use numalens/capture.h. */
#ifndef NUMAP_H
#define NUMAP_H

#include <inttypes.h>
#include <perfmon/pfmlib_perf_event.h>
#include <signal.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MAX_NB_NUMA_NODES 16
#define MAX_NB_THREADS    24
#define MAX_NB_CPUS       32

#define ERROR_PERF_EVENT_OPEN                         -3
#define ERROR_NUMAP_NOT_NUMA                          -4
#define ERROR_NUMAP_ALREADY_STARTED                   -5
#define ERROR_NUMAP_STOP_BEFORE_START                 -6
#define ERROR_NUMAP_ARCH_NOT_SUPPORTED                -7
#define ERROR_NUMAP_READ_SAMPLING_ARCH_NOT_SUPPORTED  -9
#define ERROR_NUMAP_WRITE_SAMPLING_ARCH_NOT_SUPPORTED -10
#define ERROR_PFM                                     -11
#define ERROR_READ                                    -12

/* What clients put between reading data_head and reading the samples before it. */
#define rmb() __atomic_thread_fence(__ATOMIC_ACQUIRE)

struct numap_counting_measure {
    char started;
    int nb_nodes;
    int is_valid[MAX_NB_NUMA_NODES];
    long fd_reads[MAX_NB_NUMA_NODES]; /* not used here */
    long fd_writes[MAX_NB_NUMA_NODES];
    long long reads_count[MAX_NB_NUMA_NODES]; /* lines of 64 bytes */
    long long writes_count[MAX_NB_NUMA_NODES];
};

struct numap_sampling_measure {
    /* written and read by clients */
    unsigned int nb_threads;
    unsigned int sampling_rate;    /* accesses between samples, about */
    unsigned int mmap_pages_count; /* a power of two */
    pid_t tids[MAX_NB_THREADS];
    struct perf_event_mmap_page *metadata_pages_per_tid[MAX_NB_THREADS]; /* records of perf, up to data_head */

    /* the library's */
    size_t page_size;
    size_t mmap_len;
    char started;
    long fd_per_tid[MAX_NB_THREADS]; /* -1: no event of the kernel's is behind it */
    void (*handler)(struct numap_sampling_measure *, int);
    int total_samples;
    int nb_refresh;
};

/* A PERF_RECORD_SAMPLE's body, of the starts that are not generic. */
struct __attribute__((__packed__)) sample {
    uint64_t ip;
    uint64_t addr;
    uint64_t weight; /* latency: ns from the soft sampler, else cycles */
    union perf_mem_data_src data_src;
};

struct __attribute__((__packed__)) mmap_sample {
    uint32_t pid;
    uint32_t tid;
    uint64_t addr;
    uint64_t len;
    uint64_t pgoff;
    char filename[100];
};

char *concat(const char *s1, const char *s2);

int numap_init(void);

int numap_counting_init_measure(struct numap_counting_measure *measure);
int numap_counting_start(struct numap_counting_measure *measure);
int numap_counting_stop(struct numap_counting_measure *measure);

/* Before the start: `handler` is called on the sampled thread, in a handler of SIGIO, after each `nb_refresh` samples. */
int numap_sampling_set_measure_handler(struct numap_sampling_measure *measure,
                                       void (*handler)(struct numap_sampling_measure *, int), int nb_refresh);
int numap_sampling_init_measure(struct numap_sampling_measure *measure, int nb_threads, int sampling_rate,
                                int mmap_pages_count);

/* sample_type: PERF_SAMPLE_IP, TID, TIME, ADDR, CPU, PERIOD, WEIGHT and DATA_SRC. */
int numap_sampling_read_start_generic(struct numap_sampling_measure *measure, uint64_t sample_type);
int numap_sampling_read_start(struct numap_sampling_measure *measure);
int numap_sampling_read_stop(struct numap_sampling_measure *measure);
int numap_sampling_read_print(struct numap_sampling_measure *measure, char print_samples);
int numap_sampling_read_supported(void);
int numap_sampling_write_supported(void);
int numap_sampling_write_start_generic(struct numap_sampling_measure *measure, uint64_t sample_type);
int numap_sampling_write_start(struct numap_sampling_measure *measure);
int numap_sampling_write_stop(struct numap_sampling_measure *measure);
int numap_sampling_write_print(struct numap_sampling_measure *measure, char print_samples);
int numap_sampling_print(struct numap_sampling_measure *measure, char print_samples);
int numap_sampling_end(struct numap_sampling_measure *measure);
int numap_sampling_resume(struct numap_sampling_measure *measure);

/* Cause and remedy; good until the calling thread's next failure. */
const char *numap_error_message(int error);

int is_served_by_local_cache1(union perf_mem_data_src data_src);
int is_served_by_local_cache2(union perf_mem_data_src data_src);
int is_served_by_local_cache3(union perf_mem_data_src data_src);
int is_served_by_local_lfb(union perf_mem_data_src data_src);
int is_served_by_local_cache(union perf_mem_data_src data_src);
int is_served_by_local_memory(union perf_mem_data_src data_src);
int is_served_by_remote_cache_or_local_memory(union perf_mem_data_src data_src);
int is_served_by_remote_memory(union perf_mem_data_src data_src);
int is_served_by_local_NA_miss(union perf_mem_data_src data_src);

/* To be freed. */
char *get_data_src_opcode(union perf_mem_data_src data_src);
char *get_data_src_level(union perf_mem_data_src data_src);

#ifdef __cplusplus
}
#endif

#endif
