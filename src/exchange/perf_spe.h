/* exchange/perf_spe.h - Arm SPE in a recording: buffers of packets (AUXTRACE) made into accesses of threads.
 *
 * Read in two passes: perf_spe_learn sees every record first (which thread filled which stretch of a buffer, what the
 * clock and the cores are), then perf_spe_decode takes the buffers. */
#pragma once

#include "perf/perf_file.h"
#include "perf/memory_access.h"

struct perf_spe;

struct perf_spe *perf_spe_new(void);
void perf_spe_free(struct perf_spe *spe);

void perf_spe_learn(struct perf_spe *spe, const struct perf_file_record *record);
bool perf_spe_present(const struct perf_spe *spe);

/* Before each pass over the buffers. */
void perf_spe_rewind(struct perf_spe *spe);

/* The accesses of one AUXTRACE record; those of no known thread have pid 0. */
void perf_spe_decode(struct perf_spe *spe, const struct perf_file *file, const struct perf_file_record *record,
                     void (*take)(void *context, const struct memory_access *access), void *context);
