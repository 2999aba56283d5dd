/* symbols/type_internal.h - what types.c, type_text.c and declared.c share. */
#pragma once

#include "symbols/debuginfo_internal.h"
#include "symbols/types.h"

const struct symbol_type *type_of_items(struct debuginfo *info,
                                        const Dwarf_Die *type); /* of an array of any dimensions */

enum { TYPE_TEXT_MOST = 1024 };

/* A declaration around the name: "double (*const " and ")[3]". */
struct type_words {
    char before[TYPE_TEXT_MOST], after[64];
};

/* scoped: with namespaces and classes */
void type_words_make(struct debuginfo *info, const Dwarf_Die *type, bool scoped, struct type_words *words);
const char *type_words_join(struct type_words *words); /* without a name; in `words` */
const char *type_keyword(int tag);                     /* "struct", "class", "union", or "" */

/* As it is declared, with its scope, without allocators: "std::vector<Particle>"; interned. */
const char *type_text_of(struct debuginfo *info, Dwarf_Die *type);

/* "ns::Class::", or "". */
const char *type_scope(struct debuginfo *info, const Dwarf_Die *type);

/* What is inside the standard library's containers is not the program's: std::vector<Particle> is one field. */
bool type_is_library(struct debuginfo *info, Dwarf_Die *type);

/* How many other units are asked for what one does not declare. */
size_t type_units(const struct debuginfo *info);

struct symbol_types { /* that were made */
    array_of(struct symbol_type *) items;
    struct map64 of_key; /* number of a text -> index */
};

struct symbol_types *symbols_types(struct symbols *symbols);

/* As symbols/types.h has them. */
const struct symbol_type *debuginfo_variable_type(struct debuginfo *info, const char *name, uint32_t line);
const struct symbol_type *debuginfo_expression_type(struct debuginfo *info, uint64_t addr, size_t level,
                                                    const char *expression);
const struct symbol_type *debuginfo_named_type(struct debuginfo *info, uint64_t addr, const char *name);
const struct symbol_type *debuginfo_parameter_type(struct debuginfo *info, uint64_t addr, size_t level);
