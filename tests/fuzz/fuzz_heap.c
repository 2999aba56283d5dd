/* fuzz_heap.c - any bytes as the heap of a process that is sampled from outside: what its mappings are, and what is in them, at two looks. */
#include "base/map64.h"
#include "capture/outside/glibc_heap.h"
#include "capture/outside/remote_memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAPS = 6, MOST = 4000, ARENA = 64 << 20, BASE = 1 << 30, PAGE = 4096 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
bool __wrap_remote_open(struct remote_memory *memory, uint32_t pid);
void __wrap_remote_close(struct remote_memory *memory);
bool __wrap_remote_word(struct remote_memory *memory, uint64_t addr, uint64_t *word);
FILE *__wrap_fopen64(const char *path, const char *mode);

static const uint8_t *bytes;
static size_t words;
static char text[MAPS * 100];
static struct map64 known; /* objects that were reported and not freed */

bool __wrap_remote_open(struct remote_memory *memory, uint32_t pid)
{
    (void)memory;
    return pid == 1;
}

void __wrap_remote_close(struct remote_memory *memory)
{
    (void)memory;
}

/* The input again and again, so that it begins where an arena may. */
bool __wrap_remote_word(struct remote_memory *memory, uint64_t addr, uint64_t *word)
{
    (void)memory;
    if (words == 0 || addr % 8)
        return false;
    memcpy(word, bytes + (addr - BASE) / 8 % words * 8, 8);
    return *word != UINT64_MAX; /* else: a page that is not there */
}

FILE *__wrap_fopen64(const char *path, const char *mode)
{
    (void)path;
    (void)mode;
    return *text ? fmemopen(text, strlen(text), "r") : NULL;
}

/* Mappings, two bytes each: what it is and how many pages. */
static void make_maps(const uint8_t *from)
{
    static const char *const kinds[] = {"rw-p 00000000 00:00 0 ", "rw-p 00000000 00:00 0 [heap]",
                                        "r--p 00000000 00:00 0 ", "rw-p 00000000 08:01 7 /bin/it"};
    uint64_t at = BASE;
    size_t used = 0;
    for (unsigned i = 0; i < MAPS; i++) {
        uint64_t pages = from[2 * i + 1] % 64 + 1;
        if (from[2 * i] & 4)
            at = (at + ARENA - 1) / ARENA * ARENA;
        used += (size_t)snprintf(text + used, sizeof text - used, "%llx-%llx %s\n", (unsigned long long)at,
                                 (unsigned long long)(at + pages * PAGE), kinds[from[2 * i] & 3]);
        at += pages * PAGE;
    }
}

static void see(void *context, const struct event *event)
{
    (void)context;
    bool is_new;
    if (event->kind == EVENT_ALLOC) {
        uint64_t *size = map64_insert(&known, event->alloc.addr, &is_new);
        if (!is_new || event->alloc.size == 0 || event->alloc.addr < BASE || event->alloc.addr % 16)
            abort();
        *size = event->alloc.size;
    } else if (event->kind == EVENT_FREE && !map64_remove(&known, event->free.addr)) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2 * MAPS + 16)
        return 0;
    struct sink sink = {.tap = see};
    struct glibc_heap *heap = glibc_heap_new(1, MOST);
    known = (struct map64){0};
    make_maps(data);
    bytes = data + 2 * MAPS;
    words = (size_t)1 << (60 - __builtin_clzll(size - 2 * MAPS)); /* eighths, a power of two */
    glibc_heap_look(heap, &sink, 1);
    words /= 2;
    glibc_heap_look(heap, &sink, 2);
    for (unsigned i = 0; i < 64; i++)
        glibc_heap_knows(heap, BASE + i * 1000);
    glibc_heap_free(heap);
    map64_free(&known);
    return 0;
}
