/* symbols/debuginfo_internal.h - the index that units.c builds, and frames.c, variables.c and others use. */
#pragma once

#include "base/array.h"
#include "base/map64.h"
#include "symbols/debuginfo.h"
#include "symbols/die.h"

struct owned_range {
    uint64_t low, high;
    uint32_t owner; /* unit, function or inlined call */
};

typedef array_of(struct owned_range) range_list;

struct inlined_call {
    Dwarf_Die die;
    uint32_t caller; /* the inlined call it is in, or NO_CALLER */
    uint32_t depth;
    uint64_t low; /* lowest address */
};

#define NO_CALLER UINT32_MAX

struct function {
    Dwarf_Die die;
    uint32_t unit;
    uint64_t entry;
    const char *name; /* NULL until asked for */
    bool inlines_read;
    array_of(struct inlined_call) calls;
    range_list call_ranges;
};

struct unit {
    Dwarf_Die line_die;    /* where the line table hangs */
    Dwarf_Die die;         /* where the functions are: the same, but for split DWARF */
    const char *directory; /* where the compiler ran; NULL until asked for */
    bool functions_read;
    range_list function_ranges; /* sorted; owner: into debuginfo.functions */
};

struct variable {
    uint64_t addr;
    Dwarf_Die die;
};

struct local_variable {
    uint64_t offset; /* or NO_OFFSET: then it may be an automatic variable too */
    bool inner;      /* declared in a function */
    Dwarf_Die die;
};

struct member {
    uint64_t addr, size;
    Dwarf_Die block, die;
};

struct unit_type {
    Dwarf_Die die;
    uint32_t next; /* + 1, of the same key; or 0 */
};

struct scope { /* from this entry (die_key) on, up to the next one's */
    uint64_t from;
    const char *text; /* interned: "ns::Class::" */
};

struct unit_scopes {
    array_of(struct scope) items; /* sorted */
    uint64_t seen;                /* the entry that the walk has come to */
};

struct local {
    Dwarf_Die die;
    const char *name;
    const char *type; /* NULL until asked for */
    uint32_t block;   /* or NO_BLOCK */
};

struct local_block {
    Dwarf_Die die;
    uint32_t around; /* or NO_BLOCK */
};

#define NO_BLOCK UINT32_MAX

struct locals { /* variables and parameters with a name, of a function or an inlined call */
    array_of(struct local) items;
    array_of(struct local_block) blocks;
};

struct debuginfo {
    Dwarf *dwarf;
    struct symbols *symbols;
    array_of(struct unit) units;
    range_list unit_ranges; /* sorted */
    array_of(struct function) functions;
    bool variables_read;
    array_of(struct variable) variables;
    array_of(struct member) members;
    bool thread_locals_read;
    array_of(struct local_variable) thread_locals;
    struct map64 locals_of; /* die_key() of a function or inlined call -> which of: */
    array_of(struct locals) locals;
    struct map64 type_texts;     /* die_key() of a type -> its text, interned */
    struct map64 scopes;         /* die_key() of entries without linkage name -> interned "namespace::class::" */
    struct map64 scopes_of_unit; /* die_key() of a unit -> which of: */
    array_of(struct unit_scopes) unit_scopes;
    array_of(Dwarf_Die) type_units; /* the units of single types (-fdebug-types-section) */
    bool unit_types_read;
    array_of(struct unit_type) unit_types;
    struct map64 unit_type_of; /* number of a name without scope and parameters -> unit_types, + 1 */
};

#define NO_OFFSET UINT64_MAX

void debuginfo_read_variables(struct debuginfo *info); /* once: `variables` and `members` */

/* File and line of a declaration, where it has them. */
void debuginfo_declaration(struct debuginfo *info, Dwarf_Die *die, struct symbol_object *object);

/* The innermost range that covers `addr`, or NULL. */
const struct owned_range *range_list_find(const range_list *list, uint64_t addr);

/* The unit's functions, read on first call; and the one that covers `addr`, or NULL. */
struct function *unit_function_at(struct debuginfo *info, uint32_t unit, uint64_t addr);

/* The deepest inlined call that covers `addr`, or NO_CALLER. Read on first call. */
uint32_t function_call_at(struct function *function, uint64_t addr);

/* The name of a function or inlined call, demangled, interned; "" when it has none. */
const char *debuginfo_function_name(struct debuginfo *info, Dwarf_Die *die);
