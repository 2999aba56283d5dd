/* base/mem.h - allocation that does not return NULL.
 *
 * For the tools, never for the agent: when memory runs out the tool prints one line and aborts, which leaves every
 * block of the trace that was written whole. Bounded structures are the caller's business.
 *
 * A library must not end its host: a thread that has pushed a rescue goes on there instead, with a longjmp. Whatever was
 * under way is left as it is (src/lib/zone.h says who gives it back). */
#ifndef NUMALENS_BASE_MEM_H
#define NUMALENS_BASE_MEM_H

#include <setjmp.h>
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

/* A stream into a text that the caller frees, as open_memstream(); and its end, by which the text is whole. */
FILE *mem_stream(char **text, size_t *size);
void mem_stream_end(FILE *stream, char *const *text);

/* Before calls of a library that ends the process, or loses its way, when memory runs out in it: as if it did here unless
 * so much can be had. */
void mem_need(size_t size);

/* Memory has run out. Does not return. */
_Noreturn void mem_exhausted(size_t wanted);

/* Where the thread goes on when it does: the innermost that was pushed and not popped.
 *
 *     mem_rescue_push(&rescue);
 *     if (mem_rescued(&rescue))
 *         ... memory ran out below; only volatile locals have their values ...
 *     ...
 *     mem_rescue_pop(&rescue); */
struct mem_rescue {
    jmp_buf place;
    struct mem_rescue *outer;
};

void mem_rescue_push(struct mem_rescue *rescue);
void mem_rescue_pop(const struct mem_rescue *rescue);
#define mem_rescued(rescue) (setjmp((rescue)->place) != 0)

#endif
