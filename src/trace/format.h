/* trace/format.h - the bytes of numalens.data (docs/format.md says the same in prose). Private to src/trace.
 *
 * A file header, then blocks. A block is a 64-byte header and a payload; the header carries checksums of itself and of
 * the payload, so a block is either whole or not there. Everything is little-endian. */
#pragma once

#include "wire/event.h"

#include <stddef.h>
#include <stdint.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "headers are written as they are in memory");

#define TRACE_FILE_MAGIC  "NUMALENS"
#define TRACE_BLOCK_MAGIC 0x4b424c4eu /* "NLBK" */

enum {
    TRACE_VERSION = 4,
    TRACE_BLOCK_SESSION = 0x100, /* below: enum event_kind */
    TRACE_BLOCK_ENDING = 0x101,
    TRACE_BLOCK_CARRIED = 0x102, /* the blocks before it repeat what earlier files of the run have */
    TRACE_MAX_RAW = 16 << 20,    /* a reader refuses larger blocks; a writer stays far below */
    TRACE_MAX_COUNT = 1 << 19,
    TRACE_MAX_SESSION = 16 << 20, /* bytes and keys of a session: a writer refuses what a reader would */
    TRACE_MAX_KEYS = 4096,
    TRACE_MAX_RUNS = 1 << 13,
    TRACE_MAX_FRAMES = 1024,
    TRACE_MAX_COLUMNS = 9,
};

enum trace_packing { TRACE_STORED, TRACE_ZSTD };

struct trace_file_header {
    char magic[8];
    uint32_t version;
    uint32_t block_header_bytes;
};

struct trace_block_header {
    uint32_t magic;
    uint16_t kind, version;
    uint32_t pid, count;
    uint64_t first_time, last_time;
    uint32_t raw_bytes, packed_bytes; /* of the payload */
    uint64_t payload_sum;             /* XXH3-64 of the packed payload */
    uint32_t runs, packing;
    uint64_t header_sum; /* XXH3-64 of the bytes before it */
};

_Static_assert(sizeof(struct trace_file_header) == 16, "file header");
_Static_assert(sizeof(struct trace_block_header) == 64, "block header");
