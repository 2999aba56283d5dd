/* agent/unwind/unwind_cfi.h - reads the call frame information of one code address from .eh_frame.
 *
 * Follows the DWARF 5 standard, section 6.4, and the Linux Standard Base's notes on .eh_frame. Reads nothing outside
 * the module's own segment and believes nothing in it. No memory, no locks: handlers may call it. */
#pragma once

#include "agent/unwind/unwind_modules.h"
#include "agent/unwind/unwind_rule.h"

/* The rule at `address`, which is in the module. UNWIND_NONE when no FDE covers it. */
struct unwind_rule unwind_cfi_rule(const struct unwind_module *module, uint64_t address);
