/* agent/custom/custom_symbols.h - functions of a binary by name, from its file: also those that only .symtab knows. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct custom_file { /* a binary's bytes, and those of its separate symbols; zeroed = closed */
    const uint8_t *bytes, *debug;
    size_t size, debug_size;
};

struct custom_symbol {
    const char *name;
    uint64_t addr; /* in the file's own addresses */
    uint64_t size;
    bool indirect; /* an IFUNC */
};

/* Maps the file at `path`, and where it has no .symtab the file of its build id under /usr/lib/debug. */
bool custom_file_open(struct custom_file *file, const char *path);
void custom_file_close(struct custom_file *file);

/* Visits every function that is defined in it. One may come under several names, and more than once. */
void custom_file_each(const struct custom_file *file, void (*visit)(void *context, const struct custom_symbol *symbol),
                      void *context);

/* Visits what it exports: functions and variables. */
void custom_file_each_exported(const struct custom_file *file,
                               void (*visit)(void *context, const struct custom_symbol *symbol), void *context);

/* The `size` bytes that the file has for the code at `addr`, or NULL. */
const uint8_t *custom_file_code(const struct custom_file *file, uint64_t addr, uint64_t size);
