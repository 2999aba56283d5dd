/* trace/varint.h - LEB128 numbers and their helpers. Writing trusts its caller for 10 bytes of room; reading trusts
 * nothing. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { VARINT_MAX = 10 };

static inline uint8_t *varint_put(uint8_t *at, uint64_t value)
{
    while (value >= 0x80) {
        *at++ = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    *at++ = (uint8_t)value;
    return at;
}

/* False when the bytes end first or the number does not fit. */
static inline __attribute__((always_inline)) bool varint_get(const uint8_t **at, const uint8_t *end, uint64_t *value)
{
    const uint8_t *from = *at;
    if (__builtin_expect(from < end && *from < 0x80, 1)) {
        *value = *from;
        *at = from + 1;
        return true;
    }
    uint64_t result = 0;
    for (unsigned shift = 0; from < end && shift < 70; shift += 7) {
        uint8_t byte = *from++;
        if (shift == 63 && byte > 1)
            return false;
        result |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *at = from;
            *value = result;
            return true;
        }
    }
    return false;
}

/* Differences wrap, so every pair of 64-bit numbers has one; near ones become small numbers. */
static inline uint64_t zigzag(uint64_t difference)
{
    return difference << 1 ^ -(difference >> 63);
}

static inline uint64_t unzigzag(uint64_t code)
{
    return code >> 1 ^ -(code & 1);
}
