/* lib/sampling/data_src.h - samples in perf's words. */
#pragma once

#include "numalens/capture.h"

#include <linux/perf_event.h>

/* Beyond the caches, but from whose memory is not known: to be added to a data_src without a level. */
#define DATA_SRC_MISS ((uint64_t)PERF_MEM_LVL_MISS << PERF_MEM_LVL_SHIFT)

/* A sample's level and direction as perf writes them down, and its `flags` (enum sample_flag). */
uint64_t data_src_of(const nlens_sample *sample, unsigned flags);
