/* decode.c - how many PEBS-shaped records a second one core takes from a full ring to memory accesses. */
#include "capture/hardware/hw_reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { RING = 1 << 19, ROUNDS = 400, TRIES = 5 };

struct pebs_record { /* IP, TID, TIME, ADDR, CPU, WEIGHT_STRUCT, DATA_SRC */
    struct perf_event_header header;
    uint64_t ip;
    uint32_t pid, tid;
    uint64_t time, addr;
    uint32_t cpu, reserved;
    uint64_t weight, data_src;
};

static void take_sample(void *context, const struct hw_sample *sample)
{
    uint64_t *sums = context;
    sums[0] += sample->access.latency;
    sums[1] += sample->access.level;
}

static void take_loss(void *context, uint64_t time, enum loss_cause cause, uint64_t count)
{
    (void)context, (void)time, (void)cause, (void)count;
}

static uint64_t cpu_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void fill(uint8_t *data, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct pebs_record record = {
            .header = {PERF_RECORD_SAMPLE, 0, sizeof record},
            .ip = 0x401000 + i % 64,
            .pid = 100,
            .tid = 100 + (uint32_t)(i % 8),
            .time = 1000 + i,
            .addr = 0x7f0000000000 + i * 64,
            .cpu = (uint32_t)(i % 8),
            .weight = 50 + i % 400,
            .data_src = PERF_MEM_OP_LOAD | (uint64_t)(i % 4 ? 3 : 13) << 33 | (uint64_t)(i % 8 == 0) << 37,
        };
        memcpy(data + i * sizeof record, &record, sizeof record);
    }
}

int main(void)
{
    size_t count = RING / sizeof(struct pebs_record);
    uint8_t *data = calloc(1, RING);
    struct perf_event_mmap_page header = {.data_head = count * sizeof(struct pebs_record)};
    fill(data, count);
    double best = 0;
    uint64_t sums[2] = {0};
    for (int try = 0; try < TRIES; try++) {
        struct hw_reader reader = {.layout = {.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
                                                             PERF_SAMPLE_ADDR | PERF_SAMPLE_CPU |
                                                             PERF_SAMPLE_WEIGHT_STRUCT | PERF_SAMPLE_DATA_SRC,
                                              .sample_id_all = true},
                                   .source = SOURCE_PEBS};
        struct hw_listener listener = {sums, take_sample, take_loss, NULL};
        uint64_t start = cpu_ns();
        for (int round = 0; round < ROUNDS; round++) {
            struct perf_ring ring = {.fd = -1, .header = &header, .data = data, .size = RING};
            const struct perf_event_header *record;
            while ((record = perf_ring_peek(&ring))) {
                hw_reader_take(&reader, &ring, record, &listener);
                perf_ring_next(&ring, record);
            }
        }
        double rate = (double)(ROUNDS * count) / (double)(cpu_ns() - start) * 1e3;
        best = rate > best ? rate : best;
        if (reader.samples != ROUNDS * count)
            return 1;
    }
    printf("%.1f million PEBS-shaped records a second on one core (goal: 20); checks: %llu %llu\n", best,
           (unsigned long long)sums[0], (unsigned long long)sums[1]);
    free(data);
    return best >= 20 ? 0 : 1;
}
