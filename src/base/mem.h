/* base/mem.h - allocation that does not return NULL.
 *
 * For the tools, never for the agent: when memory runs out the tool prints one line and aborts, which leaves every
 * block of the trace that was written whole. Bounded structures are the caller's business. */
#ifndef NUMALENS_BASE_MEM_H
#define NUMALENS_BASE_MEM_H

#include <stddef.h>

void *mem_alloc(size_t size);         /* uninitialised */
void *mem_zalloc(size_t size);        /* zeroed */
void *mem_zalloc_spread(size_t size); /* zeroed; for tables that are read all over: on huge pages where there are any */
void *mem_alloc_spread(size_t size);  /* likewise, uninitialised: for what will be filled to its end */
void *mem_resize(void *old, size_t size);
char *mem_strdup(const char *text);
char *mem_format(const char *format, ...) __attribute__((format(printf, 1, 2))); /* caller frees */

#endif
