/* topology/page_frame.h - the frame of physical memory of another process's page, asked of /proc/PID/pagemap. */
#pragma once

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Fills frames[i] with the physical address of pages[i], or 0 when it is in no frame now. Neighbours in `pages` are asked
 * for together. Returns 0, or a negative code when the kernel will not answer at all (-EPERM, -ESRCH). */
int frame_query(pid_t pid, const uint64_t *pages, size_t count, uint64_t *frames, struct error *err);

/* 0 when the kernel reports frames to this process; else negative, with what is missing. */
int frame_allowed(struct error *err);
