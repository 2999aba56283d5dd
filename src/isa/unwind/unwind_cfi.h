/* isa/unwind/unwind_cfi.h - reads the call frame information of one code address from .eh_frame.
 *
 * Follows the DWARF 5 standard, section 6.4, and the Linux Standard Base's notes on .eh_frame. Reads nothing outside
 * the module's own segment and believes nothing in it. No memory, no locks: handlers may call it. */
#pragma once

#include "isa/unwind/unwind_module.h"
#include "isa/unwind/unwind_rule.h"

/* Takes note of the search table that begins at `hdr`, with `room` bytes behind that; and where .eh_frame would be. False: it is of a form that no
 * linker in use makes. */
bool unwind_cfi_index(struct unwind_module *module, const uint8_t *hdr, uint64_t room, uint64_t *eh_frame);

/* The rule at `address`, which is in the module. UNWIND_NONE when no FDE covers it. */
struct unwind_rule unwind_cfi_rule(const struct unwind_module *module, uint64_t address);
