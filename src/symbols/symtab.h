/* symbols/symtab.h - functions and static objects from an ELF file's own tables. The names that are added point into
 * the binary, which must stay open, or are interned in `names`. */
#pragma once

#include "base/strtab.h"
#include "symbols/binary.h"
#include "symbols/name_table.h"

struct symtab {
    struct table functions, objects;
    struct table thread_locals; /* their addresses are offsets into each thread's block */
};

/* .symtab and .dynsym. True when there was a .symtab. */
bool symtab_read(const struct binary *binary, struct symtab *symtab);

/* .gnu_debugdata: a compressed symbol table that some distributions leave in stripped programs. */
void symtab_read_minidebug(const struct binary *binary, struct table *functions, struct strtab *names);

/* The stubs through which calls leave a module, as "malloc@plt". */
void symtab_read_plt(const struct binary *binary, struct table *functions, struct strtab *names);
