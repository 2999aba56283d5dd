/* analysis/names/sources.h - names that source text gives to what it allocates: `s->basis` of `s->basis = malloc(n);`.
 *
 * Source files are hostile input: read once, bounded, regular files only. What is not understood gives no name. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SOURCE_NAME_MAX = 64 }; /* bytes with the end; longer ones are no names */

struct sources;

struct sources *sources_new(void);
void sources_free(struct sources *sources);

/* Of several allocating calls on one line, which this is, from 0 in order of their first use. Alone: {0, 1}. */
struct source_twin {
    uint32_t number, of;
};

/* The name given on `line` of `file` (as the compiler wrote it; a relative one is looked for beside `module`, and
 * here). False when the file is not at hand, the line gives none, or it gives several and not as many as there are twins. */
bool sources_name(struct sources *sources, const char *file, uint32_t line, struct source_twin twin, const char *module,
                  char name[SOURCE_NAME_MAX]);

/* Likewise of a text: the statement that is at work on `line` (from 1). */
bool source_text_name(const char *text, size_t size, uint32_t line, bool fortran, struct source_twin twin,
                      char name[SOURCE_NAME_MAX]);

/* All names that the line gives, in order: `allocate(a(n), b(n))` has two. Returns how many. */
enum { SOURCE_NAMES = 64 };
size_t source_text_names(const char *text, size_t size, uint32_t line, bool fortran,
                         char names[SOURCE_NAMES][SOURCE_NAME_MAX]);
