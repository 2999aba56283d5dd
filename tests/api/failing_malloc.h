/* failing_malloc.h - an allocator that fails when asked to, for the program and its libraries: glibc's, with a count. It
 * defines malloc() and its like. Libraries that end the process when an allocation fails in them are spared: failing_spare. */
#ifndef NUMALENS_TESTS_FAILING_MALLOC_H
#define NUMALENS_TESTS_FAILING_MALLOC_H

#include <errno.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

void *malloc(size_t size);
void *calloc(size_t count, size_t size);
void *realloc(void *old, size_t size);
void *memalign(size_t alignment, size_t size);
void *aligned_alloc(size_t alignment, size_t size);
int posix_memalign(void **memory, size_t alignment, size_t size);
void free(void *memory);
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *memory);

/* Allocation number `failing_at` fails, from 1 on; 0: none does. With `failing_on` all after it fail too. */
static _Atomic long failing_at, failing_seen, failing_live;
static _Atomic int failing_paused; /* in what cannot do without */
static _Atomic bool failing_on;
static _Atomic unsigned failing_slow_us; /* how long the one that fails takes */

/* Code of libraries that is spared. */
static struct {
    uintptr_t start, end;
} failing_spared[16];
static size_t failing_spared_count;

static bool fails(const void *caller)
{
    for (size_t i = 0; i < failing_spared_count; i++)
        if ((uintptr_t)caller - failing_spared[i].start < failing_spared[i].end - failing_spared[i].start)
            return false;
    long at = failing_paused ? 0 : (long)failing_at, seen = at ? ++failing_seen : 0;
    bool failed = at && (failing_on ? seen >= at : seen == at);
    if (failed && failing_slow_us) /* so that whoever needs what this thread holds is waiting for it */
        usleep(failing_slow_us);
    if (failed)
        errno = ENOMEM;
    return failed;
}

static void *counted(void *memory)
{
    failing_live += memory != NULL;
    return memory;
}

void *malloc(size_t size)
{
    return fails(__builtin_return_address(0)) ? NULL : counted(__libc_malloc(size));
}

void *calloc(size_t count, size_t size)
{
    return fails(__builtin_return_address(0)) ? NULL : counted(__libc_calloc(count, size));
}

void *realloc(void *old, size_t size)
{
    if (fails(__builtin_return_address(0)))
        return NULL;
    void *memory = __libc_realloc(old, size);
    failing_live += (memory && !old) - (old && size == 0);
    return memory;
}

void *memalign(size_t alignment, size_t size)
{
    return fails(__builtin_return_address(0)) ? NULL : counted(__libc_memalign(alignment, size));
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return fails(__builtin_return_address(0)) ? NULL : counted(__libc_memalign(alignment, size));
}

int posix_memalign(void **memory, size_t alignment, size_t size)
{
    *memory = fails(__builtin_return_address(0)) ? NULL : counted(__libc_memalign(alignment, size));
    return *memory ? 0 : ENOMEM;
}

void free(void *memory)
{
    failing_live -= memory != NULL;
    __libc_free(memory);
}

static int failing_spare_one(struct dl_phdr_info *library, size_t size, void *name)
{
    (void)size;
    if (!strstr(library->dlpi_name, name))
        return 0;
    for (int i = 0; i < library->dlpi_phnum && failing_spared_count < 16; i++) {
        const ElfW(Phdr) *part = &library->dlpi_phdr[i];
        if (part->p_type != PT_LOAD || !(part->p_flags & PF_X))
            continue;
        failing_spared[failing_spared_count].start = library->dlpi_addr + part->p_vaddr;
        failing_spared[failing_spared_count++].end = library->dlpi_addr + part->p_vaddr + part->p_memsz;
    }
    return 0;
}

/* Allocations made by the code of a library, by its name. */
static inline void failing_spare(const char *name)
{
    dl_iterate_phdr(failing_spare_one, (void *)name);
}

/* The n-th allocation from now on fails, or with `on` all from the n-th. */
static inline void failing_begin(long n, bool on)
{
    failing_seen = 0;
    failing_on = on;
    failing_at = n;
}

/* Whether there were so many. */
static inline bool failing_end(void)
{
    bool reached = failing_seen >= failing_at;
    failing_at = 0;
    return reached;
}

#endif
