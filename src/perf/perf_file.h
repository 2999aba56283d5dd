/* perf/perf_file.h - reads perf.data: file and pipe mode, compressed or not, of either byte order, damaged or whole.
 *
 * Records come in the order of the file, attributes and header features before them. Nothing is trusted: sizes are
 * checked, a damaged part ends the reading with what came before it kept and `damage` reporting where and why. */
#pragma once

#include "base/error.h"
#include "perf/sample.h"

struct perf_file;

struct perf_file_event { /* one event that was recorded */
    struct perf_event_attr attr;
    struct perf_layout layout;
    const char *name; /* from EVENT_DESC or EVENT_UPDATE, or "" */
};

struct perf_file_node { /* of HEADER_NUMA_TOPOLOGY */
    uint32_t node;
    uint64_t memory_kib;
    const char *cpus; /* "0-15,32-47" */
};

struct perf_file_facts { /* header features; "" and 0 where missing */
    const char *hostname, *os_release, *arch, *cpu_desc, *cpuid, *command;
    uint32_t cpus_available;
    const struct perf_file_node *nodes;
    size_t node_count;
};

struct perf_file_record {
    const struct perf_event_header *header; /* in host byte order */
    const uint8_t *bytes;                   /* the whole record as recorded */
    size_t size;
    const struct perf_file_event *event; /* by its id, NULL when not known */
    const uint8_t *aux;                  /* PERF_RECORD_AUXTRACE: the data that follows */
    size_t aux_size;
    uint64_t offset; /* in the file, for messages */
};

/* NULL with `err`: cannot be read, is no perf.data, is of an unknown kind. */
struct perf_file *perf_file_open(const char *path, struct error *err);
void perf_file_close(struct perf_file *file);

/* 1: a record; 0: the end; negative with `err`: damaged here (what came before was good). */
int perf_file_next(struct perf_file *file, struct perf_file_record *record, struct error *err);

size_t perf_file_events(const struct perf_file *file, const struct perf_file_event **events);
const struct perf_file_facts *perf_file_facts(const struct perf_file *file); /* complete only at the end in pipe mode */

/* The build id of a file that the recording names, or 0 bytes. */
size_t perf_file_build_id(const struct perf_file *file, const char *path, uint8_t build_id[20]);
