/* symbols/search.h - where in a binary a function, a line or a static object is: the other way round than symbols.h.
 *
 * Addresses are the file's own. Symbols and lines come from the binary, else from its debug file. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Called for each range [low, high). */
typedef void search_found(void *context, uint64_t low, uint64_t high);

/* Each returns false when the binary cannot be read. A name is as the source has it, with or without parameters, or as the symbol table
 * has it. A file's name matches from its end on, folder by folder. */
bool search_function(const char *path, const char *name, search_found *found, void *context);
bool search_object(const char *path, const char *name, search_found *found, void *context);
bool search_line(const char *path, const char *file, uint32_t line, search_found *found, void *context);

/* The build-id as hexadecimal digits; "" without one. False when the binary cannot be read. */
enum { SEARCH_BUILD_ID = 129 };
bool search_build_id(const char *path, char text[SEARCH_BUILD_ID]);

/* Where that of its file is mapped, by the binary's own addresses; false when it cannot be read, or that is not mapped. */
bool search_address_of_offset(const char *path, uint64_t offset, uint64_t *addr);
