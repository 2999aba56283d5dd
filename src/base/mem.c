#include "base/mem.h"
#include "base/units.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

void mem_exhausted(size_t wanted)
{
    fprintf(stderr, "numalens: out of memory (%zu bytes wanted)\n", wanted);
    abort();
}

static void *checked(void *memory, size_t size)
{
    if (!memory && size)
        mem_exhausted(size);
    return memory;
}

void *mem_alloc(size_t size)
{
    return checked(malloc(size), size);
}

void *mem_zalloc(size_t size)
{
    return checked(calloc(1, size), size);
}

void *mem_alloc_spread(size_t size)
{
    if (size < HUGE_PAGE)
        return mem_alloc(size);
    size_t whole = (size + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
    void *memory = checked(aligned_alloc(HUGE_PAGE, whole), whole);
    madvise(memory, whole, MADV_HUGEPAGE);
    return memory;
}

void *mem_zalloc_aligned(size_t alignment, size_t size)
{
    return memset(checked(aligned_alloc(alignment, size), size), 0, size);
}

void *mem_zalloc_spread(size_t size)
{
    return memset(mem_alloc_spread(size), 0, size);
}

void *mem_resize(void *old, size_t size)
{
    return checked(realloc(old, size), size);
}

char *mem_strdup(const char *text)
{
    size_t size = strlen(text) + 1;
    return memcpy(mem_alloc(size), text, size);
}

char *mem_vformat(const char *format, va_list args)
{
    char *text = NULL;
    int length = vasprintf(&text, format, args);
    return checked(length < 0 ? NULL : text, 1);
}

char *mem_format(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *text = mem_vformat(format, args);
    va_end(args);
    return text;
}

FILE *mem_stream(char **text, size_t *size)
{
    return checked(open_memstream(text, size), 1);
}

void mem_stream_end(FILE *stream, char *const *text)
{
    bool failed = ferror(stream) != 0;
    if (fclose(stream) != 0 || failed || !*text) /* glibc: NULL when it cannot cut it to size */
        mem_exhausted(1);
}
