/* machine/mlc.h - a model from what Intel's Memory Latency Checker (mlc, run without arguments) printed. */
#pragma once

#include "machine/model.h"

/* `cpus` of each node, which that output does not say. Takes the idle latencies and the bandwidths between nodes, which must
 * be there, and where present the share that mixed traffic reaches and the loaded latencies. */
struct model *model_from_mlc(FILE *in, const char *path, uint32_t cpus, struct error *err);
