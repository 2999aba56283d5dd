/* trace/pack.h - blocks: making one of runs, and taking one apart. Private to src/trace. */
#pragma once

#include "trace/run.h"

struct packer; /* scratch memory that is used again for each block */

struct packer *packer_new(void);
void packer_free(struct packer *packer);
size_t packer_memory(const struct packer *packer);

/* Header and payload of a block, ready to be written, good until the next call. `level` is zstd's. */
const void *packer_runs(struct packer *packer, uint8_t kind, uint32_t pid, struct trace_run *runs, int level,
                        size_t *size);
const void *packer_text(struct packer *packer, uint16_t kind, const char *text, size_t length, uint32_t count,
                        size_t *size);

/* Whether a header can be one: its magic, its sum and its sizes. */
bool block_header_good(const struct trace_block_header *header);

/* The payload unpacked into `raw` (header->raw_bytes of room). False when it cannot be. */
bool block_unpack(const struct trace_block_header *header, const void *payload, uint8_t *raw);

/* One run's place in an unpacked block. */
struct block_run {
    uint32_t tid, count;
    uint64_t first_time;
    const uint8_t *at[TRACE_MAX_COLUMNS], *end[TRACE_MAX_COLUMNS];
};

/* Fills runs[header->runs]. False when the bytes are no such runs; then nothing in `runs` may be used. */
bool block_find_runs(const struct trace_block_header *header, const uint8_t *raw, struct block_run *runs);
