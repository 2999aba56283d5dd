/* A recorder just big enough for tests of the agent: runs a program under it and writes what the rings held.
 *
 *   drive [-o FILE] [-t TICK_NS] [-b BURST] [-p BUDGET_PPM] [-f FLAGS] [-l THRESHOLD] AGENT PROGRAM ARGS...
 *
 * FILE gets one line a sample: `S tid time addr size flags latency stack`, one a stack: `K tid id frame...`, one an
 * allocation: `A tid time addr size`, and at the end one a counter: `C name value`. Exits as the program did. */
#include "ring_peek.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { RINGS = 64, RING_BYTES = 1 << 20 };

static struct wire_region *region;
static struct wire_counters total;
static uint64_t long_bursts, long_accesses;
static FILE *out;

static void print_record(const struct wire_ring *ring, const struct wire_head *head)
{
    switch (head->type) {
    case WIRE_SAMPLE: {
        const struct wire_sample *sample = (const void *)head;
        fprintf(out, "S %u %lu %lx %u %u %u %u\n", ring->tid, sample->time, sample->addr, sample->size, sample->flags,
                sample->latency, head->value);
        break;
    }
    case WIRE_STACK: {
        const struct wire_stack *stack = (const void *)head;
        fprintf(out, "K %u %u", ring->tid, head->value & 0x7fffffff);
        for (int i = 0; i < head->words - 1; i++)
            fprintf(out, " %lx", stack->frames[i]);
        fputc('\n', out);
        break;
    }
    case WIRE_ALLOC: {
        const struct wire_alloc *alloc = (const void *)head;
        fprintf(out, "A %u %lu %lx %lu\n", ring->tid, alloc->time, alloc->addr,
                alloc->size_fn & ((1ul << WIRE_FN_SHIFT) - 1));
        break;
    }
    case WIRE_EVENT:
        if (head->value == EVENT_LONG_BURST) {
            const struct event_long_burst *burst = (const void *)((const struct wire_event *)head)->body;
            long_bursts++;
            long_accesses += burst->accesses + burst->counted;
        }
        break;
    }
}

static void add_counters(const struct wire_counters *from)
{
    for (unsigned i = 0; i < sizeof(*from) / 8; i++)
        ((_Atomic uint64_t *)&total)[i] += ((const _Atomic uint64_t *)from)[i];
}

static void drain(void)
{
    for (uint32_t i = 0; i < RINGS; i++) {
        struct wire_ring *ring = wire_ring_at(region, i);
        uint32_t state = atomic_load(&ring->state);
        if (state == WIRE_RING_FREE)
            continue;
        uint64_t tail = atomic_load(&ring->tail);
        bool corrupt = false;
        const struct wire_head *head;
        while ((head = ring_peek(ring, wire_ring_data(region, i), RING_BYTES, &tail, &corrupt))) {
            print_record(ring, head);
            tail += head->words * 8u;
        }
        if (corrupt) {
            fprintf(stderr, "drive: ring %u is corrupt\n", i);
            exit(3);
        }
        wire_ring_release(ring, tail);
        if (state == WIRE_RING_CLOSED) {
            add_counters(&ring->counters);
            memset((void *)&ring->counters, 0, sizeof(ring->counters));
            atomic_store(&ring->state, WIRE_RING_FREE);
        }
    }
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_RAW, &now);
    atomic_store(&region->heartbeat_ns, (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec);
}

static uint32_t counter_speed(void)
{
    struct timespec from, to, pause = {.tv_nsec = 2000000};
    uint64_t ticks = wire_counter();
    clock_gettime(CLOCK_MONOTONIC_RAW, &from);
    nanosleep(&pause, NULL);
    ticks = wire_counter() - ticks;
    clock_gettime(CLOCK_MONOTONIC_RAW, &to);
    uint64_t ns = (uint64_t)(to.tv_sec - from.tv_sec) * 1000000000 + (uint64_t)to.tv_nsec - (uint64_t)from.tv_nsec;
    return (uint32_t)(ticks * 1000 / ns);
}

static int make_region(void)
{
    uint64_t rings_offset = (sizeof(struct wire_region) + 4095) & ~4095ul;
    uint64_t data_offset = (rings_offset + RINGS * sizeof(struct wire_ring) + 4095) & ~4095ul;
    uint64_t bytes = data_offset + (uint64_t)RINGS * RING_BYTES;
    int fd = memfd_create("drive", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, (off_t)bytes) != 0)
        return -1;
    region = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (region == MAP_FAILED)
        return -1;
    region->magic = WIRE_MAGIC;
    region->version = WIRE_VERSION;
    region->header_bytes = sizeof(struct wire_region);
    region->nonce = 77;
    region->region_bytes = bytes;
    region->ring_count = RINGS;
    region->ring_bytes = RING_BYTES;
    region->rings_offset = rings_offset;
    region->data_offset = data_offset;
    region->config = (struct wire_config){.flags = WIRE_SAMPLE_LOADS | WIRE_SAMPLE_STORES | WIRE_MEASURE_LATENCY |
                                                   WIRE_TRACK_HEAP | WIRE_FOLLOW_CHILDREN | WIRE_COUNTER_IS_CPU,
                                          .burst = 8,
                                          .tick_ns = 1000000,
                                          .budget_ppm = 20000,
                                          .max_frames = 32,
                                          .ticks_per_us = counter_speed()};
    atomic_store(&region->recording, 1);
    return fd;
}

static void print_counters(void)
{
    for (uint32_t i = 0; i < RINGS; i++)
        add_counters(&wire_ring_at(region, i)->counters);
    add_counters(&region->shared);
    for (unsigned i = 0; i < LOSS_CAUSES; i++)
        fprintf(out, "C %s %lu\n", loss_name(i), atomic_load(&total.lost[i]));
    fprintf(out, "C ticks %lu\nC bursts %lu\nC steps %lu\nC accesses %lu\nC handler_ns %lu\n", total.ticks,
            total.bursts, total.steps, total.accesses, total.handler_ns);
    fprintf(out, "C long_bursts %lu\nC long_accesses %lu\n", long_bursts, long_accesses);
}

int main(int argc, char **argv)
{
    out = fopen("/dev/null", "we");
    int fd = make_region(), option;
    if (fd < 0)
        return 2;
    while ((option = getopt(argc, argv, "+o:t:b:p:f:l:")) != -1) {
        switch (option) {
        case 'o':
            out = fopen(optarg, "we");
            break;
        case 't':
            region->config.tick_ns = strtoull(optarg, NULL, 0);
            break;
        case 'b':
            region->config.burst = (uint32_t)strtoul(optarg, NULL, 0);
            break;
        case 'p':
            region->config.budget_ppm = (uint32_t)strtoul(optarg, NULL, 0);
            break;
        case 'f':
            region->config.flags = (uint32_t)strtoul(optarg, NULL, 0);
            break;
        case 'l':
            region->config.latency_threshold = (uint32_t)strtoul(optarg, NULL, 0);
            break;
        default:
            return 2;
        }
    }
    if (!out || optind + 2 > argc)
        return 2;
    drain();
    char where[64];
    snprintf(where, sizeof(where), "%d:%d:%d:0", (int)getpid(), fd, 77);
    pid_t child = fork();
    if (child == 0) {
        setenv(WIRE_ENVIRONMENT, where, 1);
        setenv("LD_PRELOAD", argv[optind], 1);
        execvp(argv[optind + 1], argv + optind + 1);
        _exit(127);
    }
    int status;
    pid_t ended;
    struct timespec pause = {.tv_nsec = 5000000};
    while ((ended = waitpid(child, &status, WNOHANG)) == 0) {
        drain();
        nanosleep(&pause, NULL);
    }
    drain();
    print_counters();
    if (fclose(out) != 0 || ended < 0)
        return 2;
    if (WIFSIGNALED(status)) { /* end alike, without a second core */
        signal(WTERMSIG(status), SIG_DFL);
        raise(WTERMSIG(status));
    }
    return WEXITSTATUS(status);
}
