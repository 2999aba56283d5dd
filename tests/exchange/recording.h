/* recording.h - recordings written byte by byte as perf does in pipe mode. */
#ifndef NUMALENS_TESTS_RECORDING_H
#define NUMALENS_TESTS_RECORDING_H

#include "../perf/bytes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

enum {
    HEADER_ATTR = 64,
    AUXTRACE_INFO = 70,
    AUXTRACE = 71,
    EVENT_UPDATE = 78,
    TIME_CONV = 79,
    HEADER_FEATURE = 80,
    FEATURE_CPUID = 9,
};

enum { PID = 50, TID = 51, OTHER_TID = 52, EVENT_ID = 7 };

struct recording {
    FILE *file;
    char path[32], output[40];
};

static inline struct bytes begin(uint32_t type)
{
    struct bytes record = {0};
    put_header(&record, type);
    return record;
}

static inline void end(struct recording *recording, struct bytes *record)
{
    size_t size = record->size;
    record->size = 6;
    put16(record, (uint16_t)size);
    assert_int_equal(fwrite(record->data, 1, size, recording->file), size);
}

static inline void put_text(struct bytes *bytes, const char *text, size_t room)
{
    memset(bytes->data + bytes->size, 0, room);
    memcpy(bytes->data + bytes->size, text, strlen(text));
    bytes->size += room;
}

static inline void put_feature(struct recording *recording, unsigned feature, const char *text)
{
    struct bytes record = begin(HEADER_FEATURE);
    put64(&record, feature), put32(&record, 36);
    put_text(&record, text, 36);
    end(recording, &record);
}

/* Magic, one event with that name and sample_type, and the processor's name. `clockid`: as perf record -k sets it, or -1. */
static inline struct recording start(uint64_t sample_type, const char *event, const char *cpuid, int clockid)
{
    struct recording recording = {.path = "/tmp/numalens-perf-XXXXXX"};
    recording.file = fdopen(mkstemp(recording.path), "wb");
    assert_non_null(recording.file);
    snprintf(recording.output, sizeof recording.output, "%s.out", recording.path);
    struct bytes head = {0};
    put64(&head, 0x32454c4946524550); /* PERFILE2 */
    put64(&head, 16);
    fwrite(head.data, 1, head.size, recording.file);

    struct bytes record = begin(HEADER_ATTR);
    put32(&record, 9), put32(&record, 96);                        /* type, size */
    put64(&record, 0), put64(&record, 1000);                      /* config, period */
    put64(&record, sample_type), put64(&record, 0);               /* read_format */
    put64(&record, 1ULL << 18 | (clockid >= 0 ? 1ULL << 25 : 0)); /* sample_id_all, use_clockid */
    put64(&record, 0), put64(&record, 0);
    put64(&record, 0), put64(&record, 0), put64(&record, 0);
    put32(&record, 0), put32(&record, clockid >= 0 ? (uint32_t)clockid : 0);
    put64(&record, EVENT_ID);
    end(&recording, &record);
    record = begin(EVENT_UPDATE);
    put64(&record, 2), put64(&record, EVENT_ID);
    put_text(&record, event, 32);
    end(&recording, &record);
    put_feature(&recording, FEATURE_CPUID, cpuid);
    return recording;
}

static inline void put_id(struct bytes *record, uint32_t tid, uint64_t time, uint32_t cpu)
{
    put32(record, PID), put32(record, tid);
    put64(record, time);
    put32(record, cpu), put32(record, 0);
    put64(record, EVENT_ID); /* identifier */
}

#endif
