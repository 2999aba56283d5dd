/* executor/pages.h - copies of the other process's pages, at the addresses that they have there. */
#pragma once

#include "executor/executor.h"

#include <stdbool.h>

/* Before each job: copies are good for one. */
void pages_begin(struct executor_job *job, const struct executor_setup *setup);

/* Has the pages of [addr, addr + size) in place. False: one of them is not in memory there, cannot be read, is a
 * device's, or is in the window. */
bool pages_have(uint64_t addr, uint64_t size);
