/* machine/hwloc_xml.h - a model from a topology that hwloc 2 wrote as XML (lstopo file.xml), with memory attributes. */
#ifndef NUMALENS_MACHINE_HWLOC_XML_H
#define NUMALENS_MACHINE_HWLOC_XML_H

#include "machine/model.h"

/* Takes nodes, cores and caches, and the attributes ReadLatency and ReadBandwidth, else Latency and Bandwidth, which must be there from
 * each node to each node. `text` is changed; `path` is what errors name, with the line. */
struct model *model_from_hwloc(char *text, const char *path, struct error *err);

#endif
