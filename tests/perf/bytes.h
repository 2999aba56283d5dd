/* bytes.h - records put together byte by byte, in either byte order. */
#ifndef NUMALENS_TESTS_BYTES_H
#define NUMALENS_TESTS_BYTES_H

#include <byteswap.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct bytes {
    uint8_t data[4096];
    size_t size;
    bool swapped;
};

static inline void put8(struct bytes *bytes, uint8_t value)
{
    bytes->data[bytes->size++] = value;
}

static inline void put16(struct bytes *bytes, uint16_t value)
{
    value = bytes->swapped ? bswap_16(value) : value;
    memcpy(bytes->data + bytes->size, &value, 2);
    bytes->size += 2;
}

static inline void put32(struct bytes *bytes, uint32_t value)
{
    value = bytes->swapped ? bswap_32(value) : value;
    memcpy(bytes->data + bytes->size, &value, 4);
    bytes->size += 4;
}

static inline void put64(struct bytes *bytes, uint64_t value)
{
    value = bytes->swapped ? bswap_64(value) : value;
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
