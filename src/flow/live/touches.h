/* flow/live/touches.h - which thread touched each page of a process first, and when, as far as page faults report.
 *
 * Kept for pages that were touched only: 8 bytes a page in blocks of 64 pages. A page without a fault of its own may have
 * come with a larger one (a transparent huge page): each 2 MiB remember their latest touch. */
#pragma once

#include "base/map64.h"

#include <stdint.h>

enum { TOUCH_TICK_SHIFT = 20 }; /* times are kept in units of 2^20 ns */

struct touches { /* zeroed = empty and ready */
    struct map64 blocks, regions;
    const struct touches *parent; /* a fork's pages are its parent's until it touches them; or NULL */
};

void touches_add(struct touches *touches, uint64_t addr, uint32_t thread, uint32_t tick);
void touches_forget(struct touches *touches, uint64_t addr, uint64_t size);
void touches_free(struct touches *touches);

/* Each page of [addr, addr + size) that has a fault of its own; when none has, each 2 MiB of it that has one. */
void touches_each(const struct touches *touches, uint64_t addr, uint64_t size,
                  void (*visit)(void *context, uint32_t thread, uint32_t tick), void *context);
