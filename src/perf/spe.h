/* perf/spe.h - Arm SPE: packets in an AUX buffer, put together to records. Meets any bytes without harm.
 *
 * A record is the packets up to an END or a timestamp. Which memory answered is reported by events (any implementation) and
 * by a data source packet, whose meaning is the core's own: `midr` picks the encoding. */
#pragma once

#include "perf/memory_access.h"

struct
    spe_clock { /* the counter's ticks to perf's time, as the kernel's mmap page and TIME_CONV report; zeroed: ticks */
    uint64_t zero, mult;
    uint64_t cycles, mask; /* for a counter that wraps; mask 0: it does not */
    uint16_t shift;
};

uint64_t spe_time(const struct spe_clock *clock, uint64_t ticks);

struct spe_decoder {
    uint64_t midr; /* of the core that wrote the buffer; 0: events alone */
    struct spe_clock clock;
    uint64_t records; /* that were loads or stores */
    uint64_t other;   /* records of branches and the like */
    uint64_t skipped; /* bytes that were no packet */
};

/* The next load or store in [*at, end), and *at behind it. False when there is none: what is left from *at on is a
 * record that goes on in the next buffer. `access` has a tid only when the kernel recorded contexts. */
bool spe_next(struct spe_decoder *decoder, const uint8_t **at, const uint8_t *end, struct memory_access *access);

/* Buffers of one CPU, one after the other: a record that one of them cuts goes on in the next. Start zeroed, but for the
 * decoder's `midr` and `clock`. */
struct spe_stream {
    struct spe_decoder decoder;
    uint8_t *bytes;
    size_t start, end, capacity;
};

void spe_stream_add(struct spe_stream *stream, const uint8_t *bytes, size_t size);
bool spe_stream_next(struct spe_stream *stream, struct memory_access *access);
void spe_stream_cut(struct spe_stream *stream); /* something is missing here: what was begun has no end */
void spe_stream_free(struct spe_stream *stream);
