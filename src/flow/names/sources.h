/* flow/names/sources.h - names that source text gives to what it allocates: `s->basis` of `s->basis = malloc(n);`.
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

/* As the compiler wrote it. A relative path is looked for where the compiler ran, beside the binary, and here. */
struct source_file {
    const char *path, *directory; /* directory: NULL when not known */
    const char *module;           /* the binary */
};

/* Its text, or NULL when it is not at hand. Lives as long as `sources`. */
const char *sources_text(struct sources *sources, const struct source_file *file, size_t *size);

/* Where it is, or NULL; the caller frees it. */
char *sources_path(const struct source_file *file);

/* A call that allocates. Several on one line are distinguished by their columns; where those are not known, or all the same, as
 * of Fortran's allocate, by their order. */
struct source_place {
    uint32_t line, column; /* from 1; column 0: not known */
    bool filled;           /* what a call fills through its first argument is asked for, not what its value goes to */
    bool library;          /* the call is of a library's function: what it allocates is not one of its arguments */
    uint32_t twin, twins;  /* which of those on the line, from 0 in order of their first use; how many there are */
};

/* The name that the file gives there. False when the file is not at hand, the line gives none, or it gives several that nothing distinguishes. */
bool sources_name(struct sources *sources, const struct source_file *file, const struct source_place *place,
                  char name[SOURCE_NAME_MAX]);

/* C and its like; Fortran, free and by columns; Python, JavaScript and others that declare no types. */
enum source_form { SOURCE_C, SOURCE_FREE, SOURCE_FIXED, SOURCE_SCRIPT };

/* What the line assigns to: `self.field` of `self.field = numpy.zeros(n)`, `grid` of `const grid = new Float64Array(n)`. */
bool source_script_name(const char *text, size_t size, uint32_t line, char name[SOURCE_NAME_MAX]);

/* Variables, members and items that the statements on a line mention, in their order; returns how many. */
size_t sources_names(struct sources *sources, const struct source_file *file, uint32_t line,
                     char names[][SOURCE_NAME_MAX], size_t most);
size_t source_text_names(const char *text, size_t size, uint32_t line, char names[][SOURCE_NAME_MAX], size_t most);

/* As sources_name, of a text. */
bool source_text_name(const char *text, size_t size, enum source_form form, const struct source_place *place,
                      char name[SOURCE_NAME_MAX]);
