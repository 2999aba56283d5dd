/* base/mem.h - allocation that does not return NULL.
 *
 * For the tools and the libraries, never for the agent: when memory runs out the process ends with one line on stderr and
 * abort(), which leaves every block of a trace that was written whole. Bounded structures are the caller's business; what a
 * caller chose the size of is allocated with malloc(), so that too much can be refused. */
#pragma once

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

void *mem_alloc(size_t size);                            /* uninitialised */
void *mem_zalloc(size_t size);                           /* zeroed */
void *mem_zalloc_aligned(size_t alignment, size_t size); /* zeroed; `size` is a multiple of `alignment` */
void *mem_zalloc_spread(size_t size); /* zeroed; for tables that are read all over: on huge pages where there are any */
void *mem_alloc_spread(size_t size);  /* likewise, uninitialised: for what will be filled to its end */
void *mem_resize(void *old, size_t size);
char *mem_strdup(const char *text);
char *mem_format(const char *format, ...) __attribute__((format(printf, 1, 2))); /* caller frees */
char *mem_vformat(const char *format, va_list args) __attribute__((format(printf, 1, 0)));

/* A stream into a text that the caller frees, as open_memstream(); and its end, by which the text is whole. */
FILE *mem_stream(char **text, size_t *size);
void mem_stream_end(FILE *stream, char *const *text);

/* Memory has run out. Does not return. */
_Noreturn void mem_exhausted(size_t wanted);
