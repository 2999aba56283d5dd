/* topology/home.h - the home node of a page of another process, asked of the kernel in batches. */
#pragma once

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Fills nodes[i] with the kernel's node number of pages[i], or a negative errno (-ENOENT: not there yet). Any count:
 * asked in batches. Needs no privilege beyond the target's own user. Returns 0, or a negative code when the kernel
 * will not answer at all (-EPERM in some containers, -ESRCH when the process has ended). */
int home_query(pid_t pid, const uint64_t *pages, size_t count, int32_t *nodes, struct error *err);
