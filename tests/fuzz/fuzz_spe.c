/* fuzz_spe.c - any bytes as packets, whole and in pieces: both ways must find the same accesses. */
#include "perf/spe.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint64_t midrs[] = {0, 0x411fd401, 0xc00fac40, 0x410fd0c0};
    if (size < 2)
        return 0;
    uint64_t midr = midrs[data[0] % 4];
    size_t piece = data[1] ? data[1] : size;
    data += 2;
    size -= 2;
    struct spe_decoder decoder = {.midr = midr, .clock = {.mult = data[-1], .shift = data[-2]}};
    struct memory_access access;
    const uint8_t *at = data, *end = data + size;
    while (spe_next(&decoder, &at, end, &access))
        if (at > end)
            abort();
    struct spe_stream stream = {.decoder = {.midr = midr}};
    uint64_t found = 0;
    for (size_t start = 0; start < size; start += piece) {
        spe_stream_add(&stream, data + start, size - start < piece ? size - start : piece);
        while (spe_stream_next(&stream, &access))
            found++;
    }
    if (found != stream.decoder.records || (size < 4096 && found != decoder.records))
        abort();
    spe_stream_free(&stream);
    return 0;
}
