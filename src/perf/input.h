/* perf/input.h - bytes of a recording: from a file or a pipe, with a memory that follows what is asked for. */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct perf_input {
    int fd;
    bool owned;
    uint64_t offset; /* of the next byte that is taken */
    uint8_t *buffer;
    size_t start, end, capacity;
};

int perf_input_open(struct perf_input *input, const char *path, struct error *err); /* "-": standard input */
void perf_input_close(struct perf_input *input);

/* The next `size` bytes in one piece, good until the next call; NULL when there are fewer (`*got`, unless NULL, says
 * how many) or reading failed (errno). Memory grows with the bytes that are there, not with what is asked for. */
const uint8_t *perf_input_peek(struct perf_input *input, size_t size, size_t *got);
void perf_input_skip(struct perf_input *input, size_t size); /* of what was peeked */

int perf_input_seek(struct perf_input *input, uint64_t offset); /* 0 or -errno: pipes cannot */

/* A walk over bytes at hand; beyond the end it gives zeroes and says so. */
struct perf_walk {
    const uint8_t *at, *end;
    bool short_of;
};

/* `size` bytes in one piece; NULL when there are fewer. Here and not in a source file: a sample is a dozen of these. */
static inline const uint8_t *perf_walk_bytes(struct perf_walk *walk, uint64_t size)
{
    if (size > (uint64_t)(walk->end - walk->at)) {
        walk->short_of = true;
        walk->at = walk->end;
        return NULL;
    }
    walk->at += size;
    return walk->at - size;
}

static inline void perf_walk_into(struct perf_walk *walk, void *value, size_t size)
{
    const uint8_t *at = perf_walk_bytes(walk, size);
    if (at)
        memcpy(value, at, size);
}

static inline uint16_t perf_walk16(struct perf_walk *walk)
{
    uint16_t value = 0;
    perf_walk_into(walk, &value, sizeof value);
    return value;
}

static inline uint32_t perf_walk32(struct perf_walk *walk)
{
    uint32_t value = 0;
    perf_walk_into(walk, &value, sizeof value);
    return value;
}

static inline uint64_t perf_walk64(struct perf_walk *walk)
{
    uint64_t value = 0;
    perf_walk_into(walk, &value, sizeof value);
    return value;
}
