/* symbols/symbols.h - names for addresses in binaries: functions with file, line and inlines; static objects; sections.
 *
 * Addresses are the file's own (run-time address minus the module's bias). Texts live as long as `struct symbols`.
 * Binaries are found by path, below another root and in perf's cache, debug files by build-id and by debug link. Names come demangled. Everything is read lazily, and a file that
 * is missing, damaged or changed since the recording gives no names but never an error to the caller:
 * symbols_module_trouble says what is wrong with it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct symbols;
struct symbols_module;

enum {
    SYMBOL_FRAMES = 64
}; /* at one address, inlined ones too: expression templates nest deep; the outermost matters */

struct symbol_frame {
    const char *function;  /* demangled; "" when not known */
    const char *file;      /* path as the compiler gave it; "" when not known */
    const char *directory; /* where the compiler ran, for a relative path; "" or NULL when not known */
    uint32_t line, column;
    uint64_t offset; /* into the function */
    bool inlined;    /* the frame after this one is where it was inlined */
    bool gives;      /* debug information says that the function returns a pointer */
};

struct symbol_variable {
    const char *name;
    const char *owner; /* of a member, its class, without namespaces and template arguments: "World"; else "" */
    const char *type;  /* as it is declared, without allocators: "std::vector<Particle>"; "" when not known */
    const char
        *class_name; /* behind typedefs, pointers and references, without scope and template arguments: "vector"; "" */
    bool is_number;  /* the type is: no object is stored in it */
};

struct symbol_object {
    const char *name; /* demangled; Fortran: "block/variable" or "module::variable" where debug info reports */
    const char *file; /* declaration, "" when not known */
    uint32_t line;
    uint64_t start, size;
};

struct symbol_section {
    const char *name; /* ".text", ".plt", ".got" ... */
    uint64_t start, size;
    bool writable, executable;
};

struct symbols *symbols_new(void);
void symbols_free(struct symbols *symbols);

/* A directory that is searched for debug files (DIR/.build-id/12/34.debug, DIR/path/of/program.debug) before
 * /usr/lib/debug. For modules asked for later. */
void symbols_add_debug_directory(struct symbols *symbols, const char *directory);

/* A directory with another machine's files (DIR/usr/bin/program), as perf's --symfs: binaries are searched there first, and
 * those whose build-id was not recorded only there; so are debug files. For modules asked for later. */
void symbols_set_root(struct symbols *symbols, const char *directory);

/* The module of that file. `build_id_size` 0: take the file as it is. Never NULL; the same arguments give the same. */
struct symbols_module *symbols_module(struct symbols *symbols, const char *path, const uint8_t *build_id,
                                      size_t build_id_size);

/* A process that has it mapped. While it runs, a file of that build is found below its root too (/proc/PID/root): a container's. */
void symbols_module_of_process(struct symbols_module *module, uint32_t pid);

/* The build-id that was recorded, or else its file's; returns its size, 0 when it has none of at most `most` bytes. */
size_t symbols_build_id(struct symbols_module *module, uint8_t *build_id, size_t most);

const char *symbols_module_trouble(struct symbols_module *module); /* NULL when all is well */

/* Why there are no names at all, neither of the file nor of a debug file of the same build; NULL when there are. */
const char *symbols_module_missing(struct symbols_module *module);

/* The frames at `addr`, innermost inlined function first, the real function last; returns how many (0: no name at
 * all). For a return address pass addr - 1. */
size_t symbols_frames(struct symbols_module *module, uint64_t addr, struct symbol_frame *frames, size_t max);

/* What the code of the frame `level` above the innermost one at `addr` means by an expression such as "cells" or "p->grid": a
 * variable of its function, or a member of the class that it is a method of. False when debug information does not say. */
bool symbols_variable(struct symbols_module *module, uint64_t addr, size_t level, const char *expression,
                      struct symbol_variable *variable);

/* Likewise the only one that is declared with this type, as the demangled name of a function has it. */
bool symbols_variable_of_type(struct symbols_module *module, uint64_t addr, size_t level, const char *type,
                              struct symbol_variable *variable);

/* The function at `addr` as symbol tables alone have it: no debug information is read for it, which takes longer than all the rest
 * where a distribution packs it. Without a name its function is "". For a return address pass addr - 1. */
struct symbol_frame symbols_function(struct symbols_module *module, uint64_t addr);

/* The data symbol (local ones, .bss and COMMON too) that covers `addr`; false when none does. */
bool symbols_object(struct symbols_module *module, uint64_t addr, struct symbol_object *object);

/* The thread-local variable that covers `offset` of the module's block; its start is an offset too. */
bool symbols_thread_local(struct symbols_module *module, uint64_t offset, struct symbol_object *object);

bool symbols_section(struct symbols_module *module, uint64_t addr, struct symbol_section *section);

/* For who knows only one mapping of a file: the address that the byte at `offset` in it is loaded at, and all the
 * addresses that the binary takes, in whole pages. False when the file is not at hand or says nothing of it. */
bool symbols_address_of_offset(struct symbols_module *module, uint64_t offset, uint64_t *addr);
bool symbols_extent(struct symbols_module *module, uint64_t *low, uint64_t *high);

/* Demangled, or `name` itself; lives as long as `symbols`. */
const char *symbols_demangle(struct symbols *symbols, const char *name);
