/* machine/stream.c - threads that read memory as fast as they can. */
#include "machine/stream.h"

#include "base/mem.h"

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

enum { PIECE = 1 << 20, NODE_WORDS = 16 };

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
    pthread_t thread;
};

static void *allocate(const struct stream *stream)
{
    void *memory = mmap(NULL, stream->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    unsigned long mask[NODE_WORDS] = {0};
    if (memory == MAP_FAILED)
        return NULL;
    madvise(memory, stream->bytes, MADV_HUGEPAGE); /* fewer translations; where there are none, small pages do */
    if (stream->node >= 0) {
        mask[(unsigned)stream->node / 64] = 1ul << ((unsigned)stream->node % 64);
        if (syscall(SYS_mbind, memory, stream->bytes, MPOL_BIND, mask, NODE_WORDS * 64, 0) != 0) {
            munmap(memory, stream->bytes);
            return NULL;
        }
    }
    memset(memory, 1, stream->bytes);
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

static void *read_memory(void *argument)
{
    struct reader *reader = argument;
    struct shared *shared = reader->shared;
    const struct stream *stream = shared->stream;
    cpu_set_t *set = CPU_ALLOC(reader->cpu + 1);
    size_t size = CPU_ALLOC_SIZE(reader->cpu + 1);
    CPU_ZERO_S(size, set);
    CPU_SET_S(reader->cpu, size, set);
    bool placed = sched_setaffinity(0, size, set) == 0;
    CPU_FREE(set);
    char *memory = placed ? allocate(stream) : NULL;
    reader->failure = !placed ? "a CPU" : !memory ? "memory" : NULL;
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

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC_RAW, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

double stream_run(const struct stream *stream, struct error *err)
{
    struct shared shared = {.stream = stream};
    struct reader *readers = mem_zalloc(stream->cpu_count * sizeof *readers);
    double bytes = 0, took = 0;
    const char *failure = NULL;
    uint32_t begun = 0;
    pthread_barrier_init(&shared.start, NULL, stream->cpu_count + 1);
    for (; begun < stream->cpu_count; begun++) {
        readers[begun].shared = &shared;
        readers[begun].cpu = stream->cpus[begun];
        if (pthread_create(&readers[begun].thread, NULL, read_memory, &readers[begun]) != 0)
            break;
    }
    if (begun < stream->cpu_count) { /* the others wait at the barrier and end with the process */
        error_set(err, -EAGAIN, "cannot start %u threads to measure bandwidth with", stream->cpu_count);
        return -1;
    }
    pthread_barrier_wait(&shared.start);
    double begin = now();
    struct timespec pause = {(time_t)stream->seconds,
                             (long)((stream->seconds - (double)(time_t)stream->seconds) * 1e9)};
    nanosleep(&pause, NULL);
    atomic_store(&shared.stop, true);
    took = now() - begin;
    for (uint32_t i = 0; i < begun; i++) {
        pthread_join(readers[i].thread, NULL);
        bytes += (double)readers[i].bytes;
        failure = readers[i].failure ? readers[i].failure : failure;
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
