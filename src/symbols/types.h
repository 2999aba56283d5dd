/* symbols/types.h - structs as debug information describes them: fields with offsets and sizes, as pahole prints them.
 *
 * What is asked for by name or expression comes from a program and from its source: nothing here trusts it. Types live as long as
 * `struct symbols`; equal ones of several units are one. */
#pragma once

#include "symbols/symbols.h"

struct symbol_field {
    const char *name;           /* "" for the unnamed */
    const char *before, *after; /* its declaration around the name: "float *", "[16]" */
    uint64_t offset, size;
    uint32_t depth;  /* 0: of the struct itself */
    uint32_t inside; /* how many of the fields behind it are its own: 0 for what is no struct */
};

struct symbol_type {
    const char *name, *keyword; /* keyword: "struct", "class", "union"; "" for what has no fields */
    const char *file;           /* where it is declared; "" when not known */
    uint32_t line;
    uint64_t size;
    size_t field_count;
    const struct symbol_field *fields; /* in order of offsets, a struct before its own */
};

/* The type of the items of a static variable, by its name and the line it is declared on (0: on none, as Go's); NULL when not known. */
const struct symbol_type *symbols_variable_type(struct symbols_module *module, const char *name, uint32_t line);

/* What an expression of the source (`s->cells`, `grid.rows[i]`, `m_x`) points to or holds, as symbols_variable
 * takes it, or of a global; NULL when it is not known, or does not say: void, char. */
const struct symbol_type *symbols_expression_type(struct symbols_module *module, uint64_t addr, size_t level,
                                                  const char *expression);

/* The first type that a template or generic function is instantiated with, `level` calls out of what is inlined at `addr`: T of
 * RawVec<T>::with_capacity_in. NULL when there is none, or it does not say: bytes. */
const struct symbol_type *symbols_parameter_type(struct symbols_module *module, uint64_t addr, size_t level);

/* The type that the unit at `addr` knows under this name: "struct point", "ns::Particle", "double"; NULL when there is none. */
const struct symbol_type *symbols_named_type(struct symbols_module *module, uint64_t addr, const char *name);
