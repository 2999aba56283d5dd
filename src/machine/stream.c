/* machine/stream.c - threads that read memory as fast as they can, and one that goes from load to load. */
#include "machine/stream.h"

#include "base/mem.h"
#include "base/units.h"

#include <errno.h>
#include <linux/mempolicy.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { PIECE = 1 << 20, NODE_WORDS = 16, LOADS = 256 };

struct shared {
    const struct stream *stream;
    pthread_barrier_t start;
    atomic_bool stop;
};

struct reader {
    struct shared *shared;
    uint32_t cpu;
    const char *failure; /* what was refused, or NULL */
    uint64_t bytes;
    double took; /* seconds of its CPU time, of the one that chases: it may have to share the CPU with others */
    uint64_t loads;
    pthread_t thread;
};

static void *allocate(const struct stream *stream, uint64_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    unsigned long mask[NODE_WORDS] = {0};
    if (memory == MAP_FAILED)
        return NULL;
    madvise(memory, bytes, MADV_HUGEPAGE); /* fewer translations; where there are none, small pages do */
    if (stream->node >= 0) {
        mask[(unsigned)stream->node / 64] = 1ul << ((unsigned)stream->node % 64);
        if (syscall(SYS_mbind, memory, bytes, MPOL_BIND, mask, NODE_WORDS * 64, 0) != 0) {
            munmap(memory, bytes);
            return NULL;
        }
    }
    memset(memory, 1, bytes);
    return memory;
}

static uint64_t read_piece(const uint64_t *words, size_t count)
{
    uint64_t a = 0, b = 0, c = 0, d = 0;
    for (size_t i = 0; i + 8 <= count; i += 8) {
        a += words[i] ^ words[i + 4];
        b += words[i + 1] ^ words[i + 5];
        c += words[i + 2] ^ words[i + 6];
        d += words[i + 3] ^ words[i + 7];
    }
    return a + b + c + d;
}

static double now(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* Memory of its own, on its CPU; NULL with the failure. */
static char *begin(struct reader *reader, uint64_t bytes)
{
    cpu_set_t *set = CPU_ALLOC(reader->cpu + 1);
    size_t size = CPU_ALLOC_SIZE(reader->cpu + 1);
    CPU_ZERO_S(size, set);
    CPU_SET_S(reader->cpu, size, set);
    bool placed = sched_setaffinity(0, size, set) == 0;
    CPU_FREE(set);
    char *memory = placed ? allocate(reader->shared->stream, bytes) : NULL;
    reader->failure = !placed ? "a CPU" : !memory ? "memory" : NULL;
    return memory;
}

/* One ring through all lines, in random order (Sattolo's). */
static void make_ring(char *memory, uint64_t lines)
{
    uint64_t state = 88172645463325252ull;
    for (uint64_t i = 0; i < lines; i++)
        *(uint64_t *)(memory + i * CACHE_LINE) = i * CACHE_LINE;
    for (uint64_t i = lines - 1; i > 0; i--) {
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        uint64_t *a = (uint64_t *)(memory + i * CACHE_LINE), *b = (uint64_t *)(memory + state % i * CACHE_LINE),
                 swap = *a;
        *a = *b;
        *b = swap;
    }
}

static void *chase_memory(void *argument)
{
    struct reader *reader = argument;
    struct shared *shared = reader->shared;
    uint64_t at = 0, bytes = shared->stream->chase_bytes;
    char *memory = begin(reader, bytes);
    if (memory)
        make_ring(memory, bytes / CACHE_LINE);
    pthread_barrier_wait(&shared->start);
    double begin_s = now(CLOCK_THREAD_CPUTIME_ID);
    while (memory && !atomic_load_explicit(&shared->stop, memory_order_relaxed)) {
        for (unsigned i = 0; i < LOADS; i++)
            at = *(volatile uint64_t *)(memory + at);
        reader->loads += LOADS;
    }
    reader->took = now(CLOCK_THREAD_CPUTIME_ID) - begin_s;
    if (memory)
        munmap(memory, bytes);
    return NULL;
}

static void *read_memory(void *argument)
{
    struct reader *reader = argument;
    struct shared *shared = reader->shared;
    const struct stream *stream = shared->stream;
    char *memory = begin(reader, stream->bytes);
    pthread_barrier_wait(&shared->start);
    uint64_t sum = 0, at = 0, span = stream->copies ? stream->bytes / 2 : stream->bytes;
    while (memory && !atomic_load_explicit(&shared->stop, memory_order_relaxed)) {
        if (stream->copies)
            memcpy(memory + span + at, memory + at, PIECE);
        else
            sum += read_piece((const uint64_t *)(memory + at), PIECE / 8);
        reader->bytes += stream->copies ? 2 * PIECE : PIECE;
        at = at + 2 * PIECE <= span ? at + PIECE : 0;
    }
    *(volatile uint64_t *)&sum = sum;
    if (memory)
        munmap(memory, stream->bytes);
    return NULL;
}

double stream_run(struct stream *stream, struct error *err)
{
    struct shared shared = {.stream = stream};
    uint32_t begun = 0, count = stream->cpu_count + (stream->chase_bytes > 0);
    struct reader *readers = mem_zalloc((count + 1) * sizeof *readers);
    double bytes = 0, took = 0;
    const char *failure = NULL;
    pthread_barrier_init(&shared.start, NULL, count + 1);
    for (; begun < count; begun++) {
        bool chases = begun == stream->cpu_count;
        readers[begun].shared = &shared;
        readers[begun].cpu = chases ? stream->chase_cpu : stream->cpus[begun];
        if (pthread_create(&readers[begun].thread, NULL, chases ? chase_memory : read_memory, &readers[begun]) != 0)
            break;
    }
    if (begun < count) { /* the others wait at the barrier and end with the process */
        error_set(err, -EAGAIN, "cannot start %u threads to measure bandwidth with", count);
        return -1;
    }
    pthread_barrier_wait(&shared.start);
    double begin = now(CLOCK_MONOTONIC_RAW);
    struct timespec pause = {(time_t)stream->seconds,
                             (long)((stream->seconds - (double)(time_t)stream->seconds) * 1e9)};
    nanosleep(&pause, NULL);
    atomic_store(&shared.stop, true);
    took = now(CLOCK_MONOTONIC_RAW) - begin;
    for (uint32_t i = 0; i < begun; i++) {
        pthread_join(readers[i].thread, NULL);
        bytes += (double)readers[i].bytes;
        failure = readers[i].failure ? readers[i].failure : failure;
        if (readers[i].loads)
            stream->chased_ns = readers[i].took / (double)readers[i].loads * 1e9;
    }
    pthread_barrier_destroy(&shared.start);
    free(readers);
    if (failure) {
        error_set(err, -EPERM, "%s of node %d is refused to this process; measure outside of its cpuset or container",
                  failure, stream->node);
        return -1;
    }
    return bytes / took / 1e9;
}
