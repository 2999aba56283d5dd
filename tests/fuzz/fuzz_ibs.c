/* fuzz_ibs.c - any bytes as registers of any family. */
#include "perf/ibs.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 3)
        return 0;
    struct ibs_cpu cpu = {data[0], data[1]};
    struct perf_sample sample = {.present = PERF_SAMPLE_RAW, .raw = data + 3, .raw_size = (uint32_t)size - 3};
    struct memory_access access;
    if (memory_from_ibs(&access, &sample, &cpu) &&
        (access.addr == 0 || !(access.flags & (SAMPLE_READ | SAMPLE_WRITE)) || access.level > LEVEL_UNCACHED))
        abort();
    char text[32] = "";
    memcpy(text, data, size < sizeof text ? size : sizeof text - 1);
    ibs_cpu_of(text, &cpu);
    return 0;
}
