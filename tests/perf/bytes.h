/* bytes.h - records put together byte by byte. */
#ifndef NUMALENS_TESTS_BYTES_H
#define NUMALENS_TESTS_BYTES_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct bytes {
    uint8_t data[4096];
    size_t size;
};

static inline void put8(struct bytes *bytes, uint8_t value)
{
    bytes->data[bytes->size++] = value;
}

static inline void put16(struct bytes *bytes, uint16_t value)
{
    memcpy(bytes->data + bytes->size, &value, 2);
    bytes->size += 2;
}

static inline void put32(struct bytes *bytes, uint32_t value)
{
    memcpy(bytes->data + bytes->size, &value, 4);
    bytes->size += 4;
}

static inline void put64(struct bytes *bytes, uint64_t value)
{
    memcpy(bytes->data + bytes->size, &value, 8);
    bytes->size += 8;
}

static inline void put_header(struct bytes *bytes, uint32_t type)
{
    put32(bytes, type);
    put16(bytes, 0);
    put16(bytes, 0);
}

#endif
