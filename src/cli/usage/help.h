/* cli/usage/help.h - numalens help TERM: the words of docs/glossary.md, which are built into the program. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { HELP_TERMS = 256 }; /* there are fewer */

/* Prints what a term means, or every one of them for "glossary" (or "terms"). False when there is no such term. */
bool help_print(const char *term);

/* All terms, in the glossary's order; returns how many. */
size_t help_terms(const char **terms);
