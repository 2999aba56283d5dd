/* machine/from_hwloc.h - a model from a topology that hwloc 2 wrote as XML (lstopo file.xml), with memory attributes. */
#pragma once

#include "machine/model.h"

/* Takes nodes, cores and caches, and the attributes ReadLatency and ReadBandwidth, else Latency and Bandwidth, which must be
 * there from each node to each node. `path` is what errors name. */
struct model *model_from_hwloc(const char *text, const char *path, struct error *err);
