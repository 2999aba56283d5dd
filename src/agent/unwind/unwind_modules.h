/* agent/unwind/unwind_modules.h - which code is mapped where, and where its .eh_frame is.
 *
 * One table for the process, sorted by address and never changed once published: readers take it, look, and give it
 * back; a new one replaces it when a library came or went. An old one is unmapped only when nobody looks at any. */
#pragma once

#include "isa/unwind/unwind_module.h"

#include <stdatomic.h>
#include <stddef.h>

struct unwind_modules {
    struct unwind_modules *older; /* retired, waiting to be unmapped; only the builder touches it */
    size_t bytes;                 /* of the mapping */
    uint32_t count;
    struct unwind_module items[];
};

/* Counts up with each change; what was derived from an older table may be wrong now. */
extern _Atomic uint32_t unwind_generation __attribute__((visibility("hidden")));

/* The table in force, or NULL before the first; good until unwind_modules_put(), which must follow in every case. Any
 * thread, any handler. */
const struct unwind_modules *unwind_modules_get(void);
void unwind_modules_put(void);

/* The module whose code holds `address`, or NULL. */
const struct unwind_module *unwind_module_at(const struct unwind_modules *modules, uint64_t address);

/* Asks the C library, where it can say; else says yes. */
bool unwind_module_is_loaded(const struct unwind_module *module);
bool unwind_module_can_ask(void);

/* Builds and publishes a new table: 1, or 0 when nothing has changed; -EAGAIN while a fork is under way (libc/libc_loader.h). `*removed`
 * says whether any code that was known was unloaded. */
int unwind_modules_build(bool *removed);
