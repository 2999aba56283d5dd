/* topology/hwloc_file.h - another machine as hwloc wrote it (lstopo FILE.xml), loaded by hwloc.
 *
 * The file may be anybody's, and both XML readers of hwloc (its own, and libxml2 where its plugin is installed) crash on some
 * damaged files: hwloc 2.9 on 1 of 100 random changes. So a child process loads it first, with limits of time and memory, and
 * what it does not survive is refused. */
#pragma once

#include "base/error.h"

#include <hwloc.h>
#include <stdio.h>

/* All of a file that is not larger than any topology. The caller frees it; NULL with `err` otherwise. */
char *hwloc_file_read(FILE *in, const char *path, struct error *err);

/* What `text` describes, with those outside the writer's cpuset and with the caches that the filter keeps; the caller destroys
 * it. NULL with `err`, which names `path`. */
hwloc_topology_t hwloc_file_load(const char *text, const char *path, enum hwloc_type_filter_e caches,
                                 struct error *err);
