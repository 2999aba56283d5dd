/* numalens/capture.h - sample the memory accesses of the calling program itself: which address, which instruction, how
 * slowly. By the processor where it can (Intel PEBS, AMD IBS, Arm SPE); elsewhere in software, with no PMU and no
 * privileges.
 *
 *     #include <numalens/capture.h>
 *     #include <stdio.h>
 *
 *     int main(void)
 *     {
 *         nlens_error err;
 *         nlens_session *session = nlens_session_new(NULL, &err);
 *         if (!session || nlens_session_add_thread(session, 0, &err) < 0 || nlens_session_start(session, &err) < 0)
 *             return fprintf(stderr, "%s\n", err.text), 1;
 *         work();
 *         nlens_session_stop(session, &err);
 *         nlens_sample samples[256];
 *         for (size_t n; (n = nlens_session_read(session, samples, 256)) > 0;)
 *             for (size_t i = 0; i < n; i++)
 *                 printf("%#lx read or wrote %#lx\n", (long)samples[i].ip, (long)samples[i].addr);
 *         nlens_session_close(session, NULL);
 *     }
 *
 *     cc -o prog prog.c $(pkg-config --cflags --libs numalens)
 *
 * A session is made once, for some threads of this process or for all of them, and started and stopped as often as one
 * likes: that costs microseconds. Its samples go three ways, together if wanted. Pull: nlens_session_read copies them
 * out, at any time, also while it runs. Push: a callback gets them as they come. File: they are written to a
 * numalens.data for `numalens report`. Whatever was lost on the way is counted (nlens_session_stats), never hidden.
 *
 * Threads: every function may be called by any thread at any time, also while samples come in, but not in signal
 * handlers; nlens_session_close only when no other call for that session is under way.
 *
 * Failure: a function that can fail returns NULL or a negative errno and fills the nlens_error, which may be NULL.
 *
 * When memory runs out, the process ends with one line on stderr and abort(). More room for samples than can be had
 * (nlens_session_options.room) is refused with -ENOMEM. A file has all samples up to the last flush, but no end, which
 * readers say.
 *
 * A child made by fork() has no sessions: only nlens_session_close is of use there.
 *
 * Binary compatibility: fields keep their places. nlens_sample and nlens_session_options may get new ones at their ends,
 * and the library is given the sizes that the program was compiled with (nlens_session_options.size; nlens_session_new
 * passes that of a sample). Structs that the program has room for and that have no size (nlens_session_stats,
 * nlens_traffic) keep theirs: what is new takes the place of `reserved`, which is 0 until then.
 *
 * What the soft sampler asks of the program: docs/library.md. */
#ifndef NUMALENS_CAPTURE_H
#define NUMALENS_CAPTURE_H

#include <numalens/flow.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Sampling ---------------------------------------------------------------------------------------------------- */

typedef struct nlens_session nlens_session;

enum nlens_wanted { NLENS_READS = 1, NLENS_WRITES = 2 };

enum nlens_source {
    NLENS_SOURCE_AUTO,     /* hardware where it works, else soft; nlens_session_source says which and why */
    NLENS_SOURCE_HARDWARE, /* whichever this processor has. Where there is none, an error that says so and what to use */
    NLENS_SOURCE_SOFT,     /* in software */
    NLENS_SOURCE_PEBS,     /* this one or an error */
    NLENS_SOURCE_IBS,
    NLENS_SOURCE_SPE
};

/* A program may have been compiled with fewer fields than the library has, or with more: it gets those that both know, and 0
 * in the others. */
typedef struct nlens_sample {
    uint64_t sequence; /* 1, 2, ...: of its session. Where numbers are missing, samples were lost */
    uint64_t time;     /* CLOCK_MONOTONIC_RAW, in nanoseconds */
    uint64_t ip;       /* the instruction; 0 when not known */
    uint64_t addr;     /* what it read or wrote */
    uint64_t data_src; /* as perf has it: union perf_mem_data_src in <linux/perf_event.h> */
    uint32_t tid;
    uint32_t latency; /* of a read: ns from the soft sampler, else cycles; 0 also when not known: see has_latency */
    uint32_t level;   /* enum nlens_level: what answered. Soft: by latency, where a calibration is kept; else unknown */
    int16_t cpu;      /* -1 when not known */
    uint16_t size;    /* bytes; 0 when not known */
    bool read, write; /* both: an atomic update */
    bool locked, has_latency;
    uint32_t reserved;
} nlens_sample;

typedef struct nlens_session_options {
    size_t size;        /* sizeof(nlens_session_options): says which fields there are */
    unsigned wanted;    /* NLENS_READS, NLENS_WRITES, or both; 0: both */
    int source;         /* enum nlens_source */
    bool whole_process; /* all threads, also those to come; else those of nlens_session_add_thread */
    uint64_t period_ns; /* mean CPU time of a thread between bursts of 8 samples; 0: 2 ms. Hardware: as many samples */
    uint64_t period;    /* for hardware instead: accesses between samples; not used by software */
    uint32_t latency;   /* reads that took less are dropped; in ns, of hardware in cycles. Writes have none and stay */
    uint32_t budget;    /* of the threads' CPU time that sampling may take, in millionths; 0: 20000, 2 % (software) */
    size_t room;        /* samples kept for nlens_session_read until it is called; 0: 262144, or none with a callback */
    /* Called by a thread of the library, one call at a time. It may use the session, but not close it. */
    void (*samples)(void *context, const nlens_sample *samples, size_t count);
    void *context;
    const char *output; /* a file for `numalens report`, or NULL */
} nlens_session_options;

/* `options` may be NULL: reads and writes, of the threads that are added. Nothing is sampled yet. */
NLENS_API nlens_session *nlens_session_new(const nlens_session_options *options, nlens_error *err);

/* The same for samples of another size: nlens_session_read and the callback take them to be that far apart, which is at
 * least NLENS_SAMPLE_LEAST and a multiple of 8. Never called by this name in C and C++, where nlens_session_new passes
 * what the program was compiled with; the function of that name, for languages that have no macros, means the least. */
NLENS_API nlens_session *nlens_session_new_sized(const nlens_session_options *options, size_t sample_size,
                                                 nlens_error *err);
#define NLENS_SAMPLE_LEAST              64
#define nlens_session_new(options, err) nlens_session_new_sized(options, sizeof(nlens_sample), err)

/* A thread of this process, by its number (gettid()); 0: the calling one. At any time. A thread that ends leaves by
 * itself. */
NLENS_API int nlens_session_add_thread(nlens_session *session, pid_t tid, nlens_error *err);
NLENS_API int nlens_session_remove_thread(nlens_session *session, pid_t tid, nlens_error *err);

/* Samples are those between start and stop. Starting what runs and stopping what does not is -EALREADY; starting one that has
 * no threads, neither added ones nor whole_process, is -EINVAL. Threads that are added while it runs are sampled from then on. */
NLENS_API int nlens_session_start(nlens_session *session, nlens_error *err);
NLENS_API int nlens_session_stop(nlens_session *session, nlens_error *err);

/* Copies the oldest samples out and forgets them; returns how many, 0 when there are none at this moment. */
NLENS_API size_t nlens_session_read(nlens_session *session, nlens_sample *samples, size_t most);

/* Gives everything sampled before this call to the callback and the file. */
NLENS_API int nlens_session_flush(nlens_session *session, nlens_error *err);

typedef struct nlens_session_stats {
    uint64_t samples;   /* of this session so far, lost ones included */
    uint64_t lost;      /* of them: there was no room, nlens_session_read came too late */
    uint64_t unwritten; /* of them: not in the file, for an error while writing */
    /* Of all sessions of this process, while this one was there: */
    uint64_t overrun; /* samples that a thread could not hand over: the library's thread did not get to run */
    uint64_t skipped; /* bursts that were skipped, to keep to the budget or because signals were blocked */
    /* At this moment: */
    uint32_t threads; /* threads sampled or about to be */
    uint32_t waiting; /* of them: not sampled yet. They have not run since, or block the sampler's signals */
    uint64_t reserved[6];
} nlens_session_stats;

NLENS_API void nlens_session_get_stats(nlens_session *session, nlens_session_stats *stats);

/* Where samples come from and why: "soft sampler (no PMU: ...)". Lives as long as the session. */
NLENS_API const char *nlens_session_source(nlens_session *session);

/* Whether the calling thread is the library's own: for programs that stand in front of malloc() and the like, and are
 * called there by this library too. */
NLENS_API bool nlens_is_own_thread(void);

/* Stops, gives the callback and the file what is left, ends the file, and frees the session. An error is one of the
 * file's; the session is freed all the same. NULL is fine. */
NLENS_API int nlens_session_close(nlens_session *session, nlens_error *err);

/* ---- Counting ---------------------------------------------------------------------------------------------------- */

/* The memory traffic of each node, by whatever the machine counts it with: the memory controllers, or resctrl. It is the
 * whole machine's, whoever causes it, and mostly wants root (perf_event_paranoid). */
typedef struct nlens_counting nlens_counting;

typedef struct nlens_traffic {
    int node;                       /* the kernel's number */
    int nodes;                      /* how many nodes the figures are for: some counters serve several at once */
    bool reads_known, writes_known; /* else only the total may be known */
    bool total_known;
    double reads, writes, total; /* bytes since nlens_counting_start, up to now or to the stop */
    uint64_t reserved[4];
} nlens_traffic;

/* NULL when nothing counts memory traffic here; the error says what was tried. */
NLENS_API nlens_counting *nlens_counting_new(nlens_error *err);
NLENS_API const char *nlens_counting_source(nlens_counting *counting); /* "uncore: uncore_imc" */
NLENS_API size_t nlens_counting_nodes(nlens_counting *counting);

/* Counts begin at 0 with each start. Starting what runs and stopping what does not is -EALREADY. */
NLENS_API int nlens_counting_start(nlens_counting *counting, nlens_error *err);
NLENS_API int nlens_counting_stop(nlens_counting *counting, nlens_error *err);

/* `index`: 0 to nlens_counting_nodes - 1. */
NLENS_API int nlens_counting_read(nlens_counting *counting, size_t index, nlens_traffic *traffic, nlens_error *err);
NLENS_API void nlens_counting_close(nlens_counting *counting); /* NULL is fine */

#ifdef __cplusplus
}
#endif

#endif
