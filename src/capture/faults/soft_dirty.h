/* capture/faults/soft_dirty.h - the kernel's marks of written pages: whether there are any, and taking them away. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Whether a page that is written to is marked so, tried with a page of our own: in kernels without, the mark never
 * shows. Touches no mark of other pages. */
bool soft_dirty_works(void);

/* Takes all marks of a process away: the first write to each of its pages faults. False when that may not be. */
bool soft_dirty_clear(uint32_t pid);
