/* capture/memory_limit.h - how much memory the recorder may plan with where its address space is limited (ulimit -v). */
#pragma once

#include "base/error.h"

#include <stddef.h>

/* Lowers `memory` (--memory) to what the limit leaves room for, and says so in `note`; "" when it fits. Fails where even the
 * least does not. */
int memory_limit_fit(size_t *memory, char *note, size_t room, struct error *err);
