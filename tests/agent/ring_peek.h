/* ring_peek.h - records of an agent's ring, read where they are: by a test that trusts its target. The recorder, which does not,
 * copies each record first (src/capture/agent). */
#pragma once

#include "wire/ring.h"

/* The oldest record, or NULL when there is none. `*corrupt` is set when what is there cannot be a record: the ring
 * must then be given up. The record's words are all inside the ring's bytes and behind the head. */
static inline const struct wire_head *ring_peek(struct wire_ring *ring, const uint8_t *data, uint32_t bytes,
                                                uint64_t *tail, bool *corrupt)
{
    for (;;) {
        uint64_t head = atomic_load_explicit(&ring->head, memory_order_acquire);
        uint64_t filled = head - *tail;
        if (filled == 0)
            return NULL;
        uint32_t at = (uint32_t)*tail & (bytes - 1);
        const struct wire_head *record = (const struct wire_head *)(data + at);
        if (filled > bytes || filled < 8 || (filled & 7) || (at & 7)) {
            *corrupt = true;
            return NULL;
        }
        if (record->type == WIRE_PAD) {
            if (bytes - at > filled) {
                *corrupt = true;
                return NULL;
            }
            *tail += bytes - at;
            continue;
        }
        uint64_t size = (uint64_t)record->words * 8;
        if (record->type == 0 || record->type >= WIRE_TYPES || size < 8 || size > filled || size > bytes - at) {
            *corrupt = true;
            return NULL;
        }
        return record;
    }
}
