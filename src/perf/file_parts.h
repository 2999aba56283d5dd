/* perf/file_parts.h - the parts of a recording that perf_file.c puts together; private to src/perf. */
#pragma once

#include "base/array.h"
#include "base/map64.h"
#include "base/strtab.h"
#include "perf/perf_file.h"
#include "perf/input.h"

/* Record types that perf itself puts between the kernel's (perf's own tools/lib/perf/include/perf/event.h). */
enum {
    RECORD_HEADER_ATTR = 64,
    RECORD_TRACING_DATA = 66,
    RECORD_BUILD_ID = 67,
    RECORD_AUXTRACE_INFO = 70,
    RECORD_AUXTRACE = 71,
    RECORD_EVENT_UPDATE = 78,
    RECORD_TIME_CONV = 79,
    RECORD_HEADER_FEATURE = 80,
    RECORD_COMPRESSED = 81,
    RECORD_COMPRESSED2 = 83,
};

enum { FEATURE_BITS = 256 };

/* events.c: which event a record belongs to */
struct perf_events {
    array_of(struct perf_file_event) items;
    struct map64 of_id;
};

/* An attribute of `size` bytes as recorded, and its ids that follow in `ids`. False: damaged. */
bool perf_events_add(struct perf_events *events, struct perf_walk attr, struct perf_walk ids, struct error *err);
void perf_events_name(struct perf_events *events, uint64_t id, const char *name);
const struct perf_file_event *perf_events_of(const struct perf_events *events, const struct perf_event_header *header,
                                             const uint8_t *bytes, size_t size);
void perf_events_free(struct perf_events *events);

/* features.c: what the header reports of the machine and the run */
struct perf_build {
    const char *path;
    uint8_t id[20], size;
};

struct perf_features {
    struct strtab *texts;
    struct perf_file_facts facts;
    array_of(struct perf_file_node) nodes;
    array_of(struct perf_build) builds;
};

/* Ready for use: texts are "" until they are reported. */
void perf_features_init(struct perf_features *features);

/* One feature's bytes. What is damaged or not known is skipped: a header is no reason to refuse the samples. */
void perf_features_read(struct perf_features *features, struct perf_events *events, unsigned feature,
                        struct perf_walk walk);
void perf_features_build_id(struct perf_features *features, struct perf_walk record, uint16_t misc);
const char *perf_features_text(struct perf_features *features, const uint8_t *bytes, size_t size);
void perf_features_free(struct perf_features *features);

/* unpack.c: compressed records, one stream over the whole file */
struct perf_unpack {
    struct ZSTD_DCtx_s *stream;
    uint8_t *bytes;
    size_t start, end, capacity;
};

/* Adds what the payload unpacks to. 0 or -EBADMSG; -EFBIG when it grows beyond reason. */
int perf_unpack_add(struct perf_unpack *unpack, const uint8_t *payload, size_t size);
void perf_unpack_free(struct perf_unpack *unpack);
