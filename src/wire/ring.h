/* wire/ring.h - both ends of one ring. Inline: the producer's end runs inside the target's malloc. */
#pragma once

#include "wire/record.h"
#include "wire/region.h"

#include <stdbool.h>

/* What a producer needs at hand. */
struct wire_producer {
    struct wire_ring *ring;
    uint8_t *data;
    uint64_t head;  /* own copy */
    uint64_t limit; /* head may go up to here without looking at tail again */
    uint32_t bytes; /* the ring's size */
};

static inline void wire_producer_init(struct wire_producer *producer, struct wire_ring *ring, uint8_t *data,
                                      uint32_t bytes)
{
    producer->ring = ring;
    producer->data = data;
    producer->bytes = bytes;
    producer->head = atomic_load_explicit(&ring->head, memory_order_relaxed);
    producer->limit = producer->head;
}

/* Bytes that the consumer has yet to take. */
static inline uint64_t wire_ring_filled(const struct wire_producer *producer)
{
    return producer->head - atomic_load_explicit(&producer->ring->tail, memory_order_relaxed);
}

/* Room for one record of `words` words, or NULL when the ring is full. Nothing is seen by the consumer before
 * wire_ring_commit. At most one reservation at a time: a handler must not reserve when it interrupted one. */
static inline void *wire_ring_reserve(struct wire_producer *producer, uint32_t words)
{
    uint32_t size = words * 8;
    uint32_t at = (uint32_t)producer->head & (producer->bytes - 1);
    uint32_t to_end = producer->bytes - at;
    uint32_t needed = to_end < size ? to_end + size : size;
    if (producer->head + needed > producer->limit) {
        producer->limit = atomic_load_explicit(&producer->ring->tail, memory_order_acquire) + producer->bytes;
        if (producer->head + needed > producer->limit)
            return NULL;
    }
    if (to_end < size) {
        struct wire_head *pad = (struct wire_head *)(producer->data + at);
        *pad = (struct wire_head){.type = WIRE_PAD, .words = 1};
        producer->head += to_end;
        at = 0;
    }
    return producer->data + at;
}

static inline void wire_ring_commit(struct wire_producer *producer, uint32_t words)
{
    producer->head += (uint64_t)words * 8;
    atomic_store_explicit(&producer->ring->head, producer->head, memory_order_release);
}

/* Gives everything up to `tail` back to the producer. */
static inline void wire_ring_release(struct wire_ring *ring, uint64_t tail)
{
    atomic_store_explicit(&ring->tail, tail, memory_order_release);
}
