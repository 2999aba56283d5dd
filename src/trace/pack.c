#include "trace/pack.h"

#include "base/mem.h"
#include "trace/varint.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>
#include <zstd.h>
#include <zstd_errors.h>

enum { PART_BYTES = 8192 }; /* of what is packed for itself, at least */

struct packer {
    ZSTD_CCtx *zstd;
    uint8_t *raw, *packed;
    size_t raw_capacity, packed_capacity;
};

struct packer *packer_new(void)
{
    struct packer *packer = mem_zalloc(sizeof *packer);
    packer->zstd = ZSTD_createCCtx();
    if (!packer->zstd)
        mem_exhausted(sizeof *packer);
    return packer;
}

void packer_free(struct packer *packer)
{
    if (!packer)
        return;
    ZSTD_freeCCtx(packer->zstd);
    free(packer->raw);
    free(packer->packed);
    free(packer);
}

size_t packer_memory(const struct packer *packer)
{
    return ZSTD_sizeof_CCtx(packer->zstd) + packer->raw_capacity + packer->packed_capacity;
}

static void reserve(uint8_t **bytes, size_t *capacity, size_t wanted)
{
    if (*capacity >= wanted)
        return;
    *capacity = wanted + wanted / 4;
    free(*bytes);
    *bytes = mem_alloc(*capacity);
}

/* Packs each part of `raw` for itself, so that each gets a code made for it: parts end at `ends`, in order. Parts that
 * are too small for that go with the next. 0 when it is no use. */
static size_t pack_parts(struct packer *packer, uint8_t *to, size_t room, const size_t *ends, unsigned count, int level)
{
    size_t from = 0, used = 0;
    for (unsigned i = 0; i < count; i++) {
        if (ends[i] - from < PART_BYTES && i + 1 < count)
            continue;
        size_t packed =
            ZSTD_compressCCtx(packer->zstd, to + used, room - used, packer->raw + from, ends[i] - from, level);
        if (ZSTD_isError(packed))
            return 0;
        used += packed;
        from = ends[i];
    }
    return used;
}

/* Packs packer->raw, up to the last of `ends`, behind a header that has all but sizes and sums. */
static const void *finish(struct packer *packer, struct trace_block_header *header, const size_t *ends, unsigned count,
                          int level, size_t *size)
{
    size_t raw_bytes = ends[count - 1];
    reserve(&packer->packed, &packer->packed_capacity,
            sizeof *header + ZSTD_compressBound(raw_bytes) + count * ZSTD_compressBound(0));
    uint8_t *payload = packer->packed + sizeof *header;
    size_t room = packer->packed_capacity - sizeof *header;
    size_t packed = pack_parts(packer, payload, room, ends, count, level);
    header->packing = TRACE_ZSTD;
    if (packed == 0 || packed >= raw_bytes) {
        if (raw_bytes)
            memcpy(payload, packer->raw, raw_bytes);
        packed = raw_bytes;
        header->packing = TRACE_STORED;
    }
    header->magic = TRACE_BLOCK_MAGIC;
    header->version = TRACE_VERSION;
    header->raw_bytes = (uint32_t)raw_bytes;
    header->packed_bytes = (uint32_t)packed;
    header->payload_sum = XXH3_64bits(payload, packed);
    header->header_sum = XXH3_64bits(header, offsetof(struct trace_block_header, header_sum));
    memcpy(packer->packed, header, sizeof *header);
    *size = sizeof *header + packed;
    return packer->packed;
}

const void *packer_runs(struct packer *packer, uint8_t kind, uint32_t pid, struct trace_run *runs, int level,
                        size_t *size)
{
    struct trace_block_header header = {.kind = kind, .pid = pid, .first_time = UINT64_MAX};
    unsigned columns = run_columns(kind);
    size_t bytes = 0;
    for (struct trace_run *run = runs; run; run = run->next) {
        run_finish(run);
        bytes += run_bytes(run) + (columns + 3) * VARINT_MAX;
        header.runs++;
        header.count += run->count;
        if (run->first_time < header.first_time)
            header.first_time = run->first_time;
        if (run->state.time > header.last_time)
            header.last_time = run->state.time;
    }
    reserve(&packer->raw, &packer->raw_capacity, bytes);

    uint8_t *at = packer->raw;
    for (struct trace_run *run = runs; run; run = run->next) {
        at = varint_put(at, run->tid);
        at = varint_put(at, run->count);
        at = varint_put(at, run->first_time - header.first_time);
        for (unsigned i = 0; i < columns; i++)
            at = varint_put(at, (uint64_t)(run->columns[i].at - run->columns[i].bytes));
    }
    /* Like beside like: the same column of every run together packs best. */
    size_t ends[1 + TRACE_MAX_COLUMNS];
    ends[0] = (size_t)(at - packer->raw);
    for (unsigned i = 0; i < columns; i++) {
        for (struct trace_run *run = runs; run; run = run->next) {
            size_t length = (size_t)(run->columns[i].at - run->columns[i].bytes);
            if (length)
                memcpy(at, run->columns[i].bytes, length);
            at += length;
        }
        ends[i + 1] = (size_t)(at - packer->raw);
    }
    return finish(packer, &header, ends, 1 + columns, level, size);
}

const void *packer_text(struct packer *packer, uint16_t kind, const char *text, size_t length, uint32_t count,
                        size_t *size)
{
    struct trace_block_header header = {.kind = kind, .count = count};
    reserve(&packer->raw, &packer->raw_capacity, length + 1);
    if (length)
        memcpy(packer->raw, text, length);
    return finish(packer, &header, &length, 1, 3, size);
}

bool block_header_good(const struct trace_block_header *header)
{
    return header->magic == TRACE_BLOCK_MAGIC &&
           header->header_sum == XXH3_64bits(header, offsetof(struct trace_block_header, header_sum)) &&
           header->raw_bytes <= TRACE_MAX_RAW && header->packed_bytes <= header->raw_bytes &&
           header->first_time <= header->last_time && header->runs <= header->count && header->runs <= TRACE_MAX_RUNS &&
           header->count <= TRACE_MAX_COUNT;
}

bool block_unpack(const struct trace_block_header *header, const void *payload, uint8_t *raw)
{
    if (header->packing == TRACE_STORED) {
        if (header->packed_bytes != header->raw_bytes)
            return false;
        if (header->raw_bytes)
            memcpy(raw, payload, header->raw_bytes);
        return true;
    }
    if (header->packing != TRACE_ZSTD)
        return false;
    size_t size = ZSTD_decompress(raw, header->raw_bytes, payload, header->packed_bytes);
    if (ZSTD_isError(size) && ZSTD_getErrorCode(size) == ZSTD_error_memory_allocation)
        mem_exhausted(header->raw_bytes);
    return size == header->raw_bytes;
}

bool block_find_runs(const struct trace_block_header *header, const uint8_t *raw, struct block_run *runs)
{
    const uint8_t *at = raw, *end = raw + header->raw_bytes;
    unsigned columns = run_columns(header->kind);
    uint64_t total = 0;
    for (uint32_t i = 0; i < header->runs; i++) {
        uint64_t tid, count, first;
        if (!varint_get(&at, end, &tid) || !varint_get(&at, end, &count) || !varint_get(&at, end, &first))
            return false;
        if (count == 0 || count > header->count - total || first > header->last_time - header->first_time)
            return false;
        total += count;
        runs[i] = (struct block_run){(uint32_t)tid, (uint32_t)count, header->first_time + first, {0}, {0}};
        for (unsigned column = 0; column < columns; column++) {
            uint64_t length;
            if (!varint_get(&at, end, &length) || length > header->raw_bytes)
                return false;
            /* The lengths wait in `end` until the table is over and the places are known. */
            runs[i].end[column] = raw + length;
        }
    }
    if (total != header->count)
        return false;
    for (unsigned column = 0; column < columns; column++) {
        for (uint32_t i = 0; i < header->runs; i++) {
            size_t length = (size_t)(runs[i].end[column] - raw);
            if (length > (size_t)(end - at))
                return false;
            runs[i].at[column] = at;
            runs[i].end[column] = at += length;
        }
    }
    return true;
}
