/* library/data_src.h - samples in perf's words, and whether this processor could take them itself. */
#ifndef NUMALENS_LIBRARY_DATA_SRC_H
#define NUMALENS_LIBRARY_DATA_SRC_H

#include "base/error.h"
#include "numalens/capture.h"

/* A sample's level, direction and lock as perf writes them down. */
uint64_t data_src_of(const nlens_sample *sample);

/* Whether the processor offers samples: 0, or a negative errno with why not. */
int data_src_find_pmu(struct error *err);

#endif
