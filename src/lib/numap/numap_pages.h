/* lib/numap/numap_pages.h - memory that looks like the buffer of a perf event: clients of numap read it themselves. One writer. */
#pragma once

#include "numalens/capture.h"
#include "numap.h"

/* The fields that records can have. */
#define PAGES_SAMPLE_TYPES                                                                                             \
    (PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD |   \
     PERF_SAMPLE_WEIGHT | PERF_SAMPLE_DATA_SRC)

/* A header page and `count` (rounded up to a power of two) pages for records; NULL when there is no memory. */
struct perf_event_mmap_page *pages_make(size_t count);
void pages_free(struct perf_event_mmap_page *page);

/* Appends a PERF_RECORD_SAMPLE, in the kernel's order of fields. False when it is full: what data_tail does not give
 * free is never overwritten. Before the next record that fits, a PERF_RECORD_LOST says how many did not. */
bool pages_put(struct perf_event_mmap_page *page, const nlens_sample *sample, uint64_t sample_type, uint64_t period,
               uint64_t *lost);

/* Calls see() for the samples between data_tail and data_head, which must be IP, ADDR, WEIGHT, DATA_SRC; nothing is given
 * free. */
void pages_each(const struct perf_event_mmap_page *page, void (*see)(void *context, const struct sample *sample),
                void *context);
