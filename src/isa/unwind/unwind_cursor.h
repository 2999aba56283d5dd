/* isa/unwind/unwind_cursor.h - reads numbers from .eh_frame, byte by byte, without leaving it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* A place in .eh_frame that cannot leave it: reading past the end gives zeros and sets `bad`. */
struct cursor {
    const uint8_t *at, *end;
    bool bad;
};

static inline uint64_t take(struct cursor *from, unsigned size)
{
    uint64_t value = 0;
    if ((size_t)(from->end - from->at) < size) {
        from->at = from->end;
        from->bad = true;
        return 0;
    }
    memcpy(&value, from->at, size);
    from->at += size;
    return value;
}

static inline uint64_t take_uleb(struct cursor *from)
{
    uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
        uint8_t byte = (uint8_t)take(from, 1);
        if (shift < 64)
            value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return value;
    }
}

static inline int64_t take_sleb(struct cursor *from)
{
    uint64_t value = 0;
    for (unsigned shift = 0;;) {
        uint8_t byte = (uint8_t)take(from, 1);
        if (shift < 64)
            value |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
        if (byte & 0x80)
            continue;
        if (shift < 64 && byte & 0x40)
            value |= ~(uint64_t)0 << shift;
        return (int64_t)value;
    }
}
