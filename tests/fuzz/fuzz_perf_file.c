/* fuzz_perf_file.c - any bytes as a perf.data: read to its end, with all that import makes of its records. */
#include "exchange/perf_spe.h"
#include "perf/perf_file.h"
#include "perf/ibs.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { RECORDS_MOST = 100000, AUXTRACE = 71 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void take(void *context, const struct memory_access *access)
{
    *(uint64_t *)context += access->addr;
}

static void look(const struct perf_file_record *record, uint64_t *sum)
{
    struct perf_sample sample;
    struct memory_access access;
    if (!record->event)
        return;
    if (record->header->type != PERF_RECORD_SAMPLE) {
        perf_sample_parse_id(&sample, &record->event->layout, record->bytes, record->size);
        return;
    }
    if (!perf_sample_parse(&sample, &record->event->layout, record->bytes, record->size))
        return;
    for (uint64_t i = 0; i < sample.callchain_count; i++)
        *sum += perf_sample_frame(&sample, i);
    memory_from_sample(&access, &sample);
    memory_from_ibs(&access, &sample, &(struct ibs_cpu){0x19, 0x11});
}

static void read_through(const char *path, struct perf_spe *spe, bool learn)
{
    struct error err = {0};
    struct perf_file *file = perf_file_open(path, &err);
    struct perf_file_record record;
    uint64_t sum = 0;
    if (!file)
        return;
    for (unsigned i = 0; i < RECORDS_MOST && perf_file_next(file, &record, &err) > 0; i++) {
        look(&record, &sum);
        if (learn)
            perf_spe_learn(spe, &record);
        else if (record.header->type == AUXTRACE)
            perf_spe_decode(spe, file, &record, take, &sum);
    }
    perf_file_close(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int fd = -1;
    char path[32];
    if (fd < 0)
        fd = memfd_create("perf.data", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, 0) != 0 || pwrite(fd, data, size, 0) != (ssize_t)size)
        abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    struct perf_spe *spe = perf_spe_new();
    read_through(path, spe, true);
    read_through(path, spe, false);
    perf_spe_free(spe);
    return 0;
}
