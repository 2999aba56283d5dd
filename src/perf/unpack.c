/* perf/unpack.c - perf record -z: records inside records. */
#include "perf/file_parts.h"

#include <errno.h>
#include <string.h>
#include <zstd.h>

enum { UNPACK_STEP = 1 << 16, UNPACK_LIMIT = 1 << 28 }; /* one record unpacks to less than a ring, at most some MiB */

static void make_room(struct perf_unpack *unpack)
{
    if (unpack->start > 0) {
        memmove(unpack->bytes, unpack->bytes + unpack->start, unpack->end - unpack->start);
        unpack->end -= unpack->start;
        unpack->start = 0;
    }
    if (unpack->capacity - unpack->end < UNPACK_STEP) {
        unpack->capacity = unpack->capacity * 2 + UNPACK_STEP;
        unpack->bytes = mem_resize(unpack->bytes, unpack->capacity);
    }
}

int perf_unpack_add(struct perf_unpack *unpack, const uint8_t *payload, size_t size)
{
    if (!unpack->stream)
        unpack->stream = ZSTD_createDStream();
    if (!unpack->stream)
        return -ENOMEM;
    ZSTD_inBuffer in = {payload, size, 0};
    bool full = true; /* the stream may hold more than one step gave */
    while (in.pos < in.size || full) {
        make_room(unpack);
        if (unpack->end > UNPACK_LIMIT)
            return -EFBIG;
        ZSTD_outBuffer out = {unpack->bytes + unpack->end, unpack->capacity - unpack->end, 0};
        size_t before = in.pos;
        size_t hint = ZSTD_decompressStream(unpack->stream, &out, &in);
        if (ZSTD_isError(hint))
            return -EBADMSG;
        unpack->end += out.pos;
        full = out.pos == out.size;
        if (in.pos == before && out.pos == 0)
            break; /* it wants more than this record holds */
    }
    return 0;
}

void perf_unpack_free(struct perf_unpack *unpack)
{
    ZSTD_freeDStream(unpack->stream);
    free(unpack->bytes);
    *unpack = (struct perf_unpack){0};
}
