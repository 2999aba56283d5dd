/* library/hardware.h - samples of this process's threads from the processor's own sampling unit. */
#ifndef NUMALENS_LIBRARY_HARDWARE_H
#define NUMALENS_LIBRARY_HARDWARE_H

#include "base/error.h"
#include "numalens/capture.h"

struct hardware;

/* Whether the processor offers samples: 0, or a negative errno with why not. */
int hardware_find(struct error *err);

/* A sample's level, direction and lock as perf writes them down. */
uint64_t hardware_data_src(const nlens_sample *sample);

#endif
