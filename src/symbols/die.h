/* symbols/die.h - safe steps through a tree of DWARF entries (DIEs). */
#pragma once

#include "symbols/symbols.h"

#include <elfutils/libdw.h>
#include <stdbool.h>

enum { DIE_DEPTH = 200 }; /* deeper trees are cut off: compilers stay far below */

/* What distinguishes an entry from all others of a program. Offsets do not: units in files of their own (-gsplit-dwarf), types
 * in a section of their own and dwz's common file each count from 0. */
static inline uint64_t die_key(const Dwarf_Die *die)
{
    return (uintptr_t)die->addr;
}

/* Steps to the first child, or to the next sibling. False at the end, and where a damaged file would lead backwards
 * (libdw follows DW_AT_sibling wherever it points). */
bool die_child(Dwarf_Die *parent, Dwarf_Die *child);
bool die_next(Dwarf_Die *die);

/* A constant attribute of the entry or of what it refers to; `otherwise` when there is none. */
uint64_t die_number(Dwarf_Die *die, unsigned attribute, uint64_t otherwise);

/* The path that a file attribute (DW_AT_decl_file, DW_AT_call_file) of the entry, or of what it refers to, stands for;
 * NULL when there is none. */
const char *die_file(Dwarf_Die *die, unsigned attribute);

/* DW_AT_linkage_name, or NULL. */
const char *die_linkage_name(Dwarf_Die *die);

/* Whether what the entry is declared with is a pointer or a reference. */
bool die_is_pointer(Dwarf_Die *die);
bool die_is_record(Dwarf_Die *die); /* a struct, a class or a union */

/* What DW_AT_type of the entry, or of what it refers to, leads to: in the type's own unit, where it has one. */
bool die_type(Dwarf_Die *die, Dwarf_Die *type);

/* Goes behind typedefs and qualifiers; `name`, unless NULL or set, becomes the first typedef's. False when nothing is there: void. */
bool die_strip(Dwarf_Die *type, const char **name);

/* Goes to what it points to, refers to or is an array of; false, and `type` is undefined, when it does none of it. */
bool die_pointee(Dwarf_Die *type);

bool die_is_fortran(Dwarf_Die *die);
bool die_is_cplusplus(Dwarf_Die *die);

/* Calls `visit` for each address range of the entry. */
void die_ranges(Dwarf_Die *die, void (*visit)(void *context, uint64_t low, uint64_t high), void *context);
