/* tests/capture/producer.h - an agent without a target: claims a ring and writes records as a real one would. */
#ifndef NUMALENS_TESTS_CAPTURE_PRODUCER_H
#define NUMALENS_TESTS_CAPTURE_PRODUCER_H

#include "wire/ring.h"

#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

struct fake_agent {
    struct wire_region *region;
    struct wire_producer producer;
    uint32_t stacks;
    uint64_t wake_at;
};

static inline void fake_claim(struct fake_agent *agent, struct wire_region *region, uint32_t pid, uint32_t tid,
                              uint32_t image)
{
    *agent = (struct fake_agent){.region = region};
    for (uint32_t i = 0;; i = (i + 1) % region->ring_count) {
        struct wire_ring *ring = wire_ring_at(region, i);
        uint32_t expected = WIRE_RING_FREE;
        if (!atomic_compare_exchange_strong(&ring->state, &expected, WIRE_RING_CLAIMED))
            continue;
        ring->pid = pid;
        ring->tid = tid;
        atomic_store(&ring->image, image);
        wire_producer_init(&agent->producer, ring, wire_ring_data(region, i), region->ring_bytes);
        agent->wake_at = agent->producer.head + region->ring_bytes / 2;
        return;
    }
}

static inline void fake_wake(struct fake_agent *agent)
{
    atomic_thread_fence(memory_order_seq_cst);
    if (!atomic_load(&agent->region->recorder_sleeps))
        return;
    atomic_fetch_add(&agent->region->wake_word, 1);
    syscall(SYS_futex, &agent->region->wake_word, FUTEX_WAKE, 1, NULL, NULL, 0);
}

/* Waits for room: nothing is ever lost. */
static inline void *fake_reserve(struct fake_agent *agent, uint32_t words)
{
    struct wire_ring *ring = agent->producer.ring;
    void *room = wire_ring_reserve(&agent->producer, words);
    while (!room) {
        uint32_t word = atomic_load(&ring->tail_word);
        atomic_store(&ring->waiting, 1);
        atomic_thread_fence(memory_order_seq_cst);
        room = wire_ring_reserve(&agent->producer, words);
        if (!room) {
            fake_wake(agent);
            struct timespec timeout = {0, 20000000};
            syscall(SYS_futex, &ring->tail_word, FUTEX_WAIT, word, &timeout, NULL, 0);
        }
        atomic_store(&ring->waiting, 0);
    }
    memset(room, 0, words * 8);
    ((struct wire_head *)room)->words = (uint8_t)words;
    return room;
}

static inline void fake_commit(struct fake_agent *agent, uint32_t words)
{
    wire_ring_commit(&agent->producer, words);
    if (agent->producer.head >= agent->wake_at) {
        fake_wake(agent);
        agent->wake_at = agent->producer.head + agent->producer.bytes / 2;
    }
}

static inline void fake_process(struct fake_agent *agent, uint64_t time, uint32_t parent, bool forked)
{
    uint32_t words = sizeof(struct wire_process) / 8 + 2;
    struct wire_process *record = fake_reserve(agent, words);
    record->head.type = WIRE_PROCESS;
    record->head.value = parent;
    record->time = time;
    record->forked = forked;
    memcpy(record->texts, "/bin/x\0x y", 11);
    fake_commit(agent, words);
}

static inline uint32_t fake_stack(struct fake_agent *agent, const uint64_t *frames, uint32_t depth)
{
    struct wire_stack *record = fake_reserve(agent, depth + 1);
    record->head.type = WIRE_STACK;
    record->head.value = ++agent->stacks;
    memcpy(record->frames, frames, depth * sizeof *frames);
    fake_commit(agent, depth + 1);
    return agent->stacks;
}

static inline void fake_alloc(struct fake_agent *agent, uint64_t time, uint64_t addr, uint64_t size, uint32_t stack)
{
    struct wire_alloc *record = fake_reserve(agent, 4);
    record->head.type = WIRE_ALLOC;
    record->head.value = stack;
    record->time = time;
    record->addr = addr;
    record->size_fn = size;
    fake_commit(agent, 4);
}

static inline void fake_free(struct fake_agent *agent, uint64_t time, uint64_t addr)
{
    struct wire_free *record = fake_reserve(agent, 3);
    record->head.type = WIRE_FREE;
    record->head.value = ALLOC_FREE;
    record->time = time;
    record->addr = addr;
    fake_commit(agent, 3);
}

static inline void fake_sample(struct fake_agent *agent, uint64_t time, uint64_t addr, uint32_t stack)
{
    struct wire_sample *record = fake_reserve(agent, 4);
    record->head.type = WIRE_SAMPLE;
    record->head.value = stack;
    record->time = time;
    record->addr = addr;
    record->latency = 100;
    record->size = 8;
    record->flags = SAMPLE_READ | SAMPLE_HAS_LATENCY;
    fake_commit(agent, 4);
}

static inline void fake_close(struct fake_agent *agent)
{
    atomic_store(&agent->producer.ring->state, WIRE_RING_CLOSED);
}

#endif
