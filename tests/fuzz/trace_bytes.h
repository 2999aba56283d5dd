/* tests/fuzz/trace_bytes.h - an input as a trace in memory, with sums and lengths that are right: without them a change would reach
 * the checksums and nothing behind them. A block goes from one magic number to the next, so that bytes may come and go. */
#pragma once

#include "trace/format.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <xxhash.h>

static inline uint8_t *trace_bytes_block(uint8_t *from, const uint8_t *end)
{
    static const uint32_t magic = TRACE_BLOCK_MAGIC;
    uint8_t *found = end - from > 0 ? memmem(from, (size_t)(end - from), &magic, sizeof magic) : NULL;
    return found && (size_t)(end - found) >= sizeof(struct trace_block_header) ? found : NULL;
}

/* A block whose version is odd keeps the sizes that it says it has. */
static inline void trace_bytes_repair(uint8_t *bytes, size_t size)
{
    uint8_t *end = bytes + size, *at = trace_bytes_block(bytes, end);
    while (at) {
        struct trace_block_header header;
        memcpy(&header, at, sizeof header);
        uint8_t *payload = at + sizeof header, *next = trace_bytes_block(payload, end);
        size_t length = (size_t)((next ? next : end) - payload);
        if (!(header.version & 1)) {
            header.packed_bytes = (uint32_t)length;
            if (header.packing != TRACE_ZSTD)
                header.raw_bytes = header.packed_bytes;
        }
        if (header.packed_bytes <= length)
            header.payload_sum = XXH3_64bits(payload, header.packed_bytes);
        header.header_sum = XXH3_64bits(&header, offsetof(struct trace_block_header, header_sum));
        memcpy(at, &header, sizeof header);
        at = next;
    }
}

/* The path of a file in memory with the input in it. Its first byte is 'N' plus `*chosen`; 255: sums stay as they are. */
static inline const char *trace_bytes_file(const uint8_t *data, size_t size, uint8_t *chosen)
{
    static int fd = -1;
    static char path[32];
    uint8_t *copy = malloc(size);
    memcpy(copy, data, size);
    *chosen = (uint8_t)(copy[0] - 'N');
    copy[0] = 'N';
    if (*chosen != 255)
        trace_bytes_repair(copy, size);
    if (fd < 0)
        fd = memfd_create("trace", MFD_CLOEXEC);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (fd < 0 || ftruncate(fd, 0) != 0 || pwrite(fd, copy, size, 0) != (ssize_t)size)
        abort();
    free(copy);
    return path;
}
