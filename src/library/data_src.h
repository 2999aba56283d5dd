/* library/data_src.h - samples in perf's words. */
#ifndef NUMALENS_LIBRARY_DATA_SRC_H
#define NUMALENS_LIBRARY_DATA_SRC_H

#include "numalens/capture.h"

/* A sample's level and direction as perf writes them down, and its `flags` (enum sample_flag). */
uint64_t data_src_of(const nlens_sample *sample, unsigned flags);

#endif
