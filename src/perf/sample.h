/* perf/sample.h - one PERF_RECORD_SAMPLE, taken apart by its event's attributes. The same code for a ring of this
 * kernel and for a file of another machine: byte order and layout are reported by `perf_layout`. */
#pragma once

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct perf_layout { /* what decides where a record's fields are */
    uint64_t sample_type, read_format, branch_sample_type;
    uint64_t sample_regs_user, sample_regs_intr;
    bool sample_id_all;
};

struct perf_sample {
    uint64_t present; /* PERF_SAMPLE_* bits that are filled below */
    uint64_t ip, time, addr, id, period, physical, data_src;
    uint32_t pid, tid, cpu;
    uint64_t weight;          /* PERF_SAMPLE_WEIGHT, or the whole of WEIGHT_STRUCT */
    uint32_t latency;         /* weight, or WEIGHT_STRUCT's var1_dw */
    const uint8_t *callchain; /* `callchain_count` 8-byte addresses, perhaps not aligned: perf_sample_frame reads one */
    uint64_t callchain_count;
    const uint8_t *raw; /* PERF_SAMPLE_RAW: IBS registers */
    uint32_t raw_size;
};

/* `record` is a whole PERF_RECORD_SAMPLE of `size` bytes. False when a field would be beyond its end. */
bool perf_sample_parse(struct perf_sample *sample, const struct perf_layout *layout, const void *record, size_t size);

uint64_t perf_sample_frame(const struct perf_sample *sample, uint64_t index);

/* The trailer that sample_id_all puts behind records that are no samples; false when there is none. */
bool perf_sample_parse_id(struct perf_sample *sample, const struct perf_layout *layout, const void *record,
                          size_t size);
