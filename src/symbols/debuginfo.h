/* symbols/debuginfo.h - DWARF of one file: lines, functions with what was inlined into them, variables.
 *
 * Units are indexed by address once; a unit's functions, a function's inlines and the variables of the whole file are
 * read on first need. Nothing here trusts the file: siblings must follow one another, depths are bounded. */
#pragma once

#include "symbols/binary.h"
#include "symbols/symbols.h"
#include "symbols/name_table.h"

struct debuginfo;

/* NULL when the file has none that can be read. `binary` must stay open; texts are interned in `symbols`. */
struct debuginfo *debuginfo_open(const struct binary *binary, struct symbols *symbols);
void debuginfo_close(struct debuginfo *info);

/* As symbols_frames, from debug information alone. `*entry` is the real function's first address; 0 when not known, and
 * for Fortran, whose symbols (MAIN__, solve_) are not what the programmer wrote. The real function's name may be "" where only the line is known. */
size_t debuginfo_frames(struct debuginfo *info, uint64_t addr, struct symbol_frame *frames, size_t max,
                        uint64_t *entry);

/* As symbols_variable and symbols_variable_of_type. */
bool debuginfo_declared(struct debuginfo *info, uint64_t addr, size_t level, const char *expression,
                        struct symbol_variable *variable);
bool debuginfo_declared_as(struct debuginfo *info, uint64_t addr, size_t level, const char *type,
                           struct symbol_variable *variable);
void debuginfo_tidy_type(char *text); /* without allocators and the like: "std::vector<int>" */

/* What is declared at exactly `addr`: fills name, file and line. False when nothing is. */
bool debuginfo_variable(struct debuginfo *info, uint64_t addr, struct symbol_object *object);

/* Where the thread-local variable at `offset` that the symbol table calls `name` is declared: fills file and line, and the
 * name where the compiler had numbered it. False when debug information does not distinguish it from others of its name. */
bool debuginfo_thread_local(struct debuginfo *info, uint64_t offset, const char *name, struct symbol_object *object);

/* The member of a Fortran COMMON block that covers `addr`: fills everything. */
bool debuginfo_common_member(struct debuginfo *info, uint64_t addr, struct symbol_object *object);
