/* test_glibc_heap.c - heaps of glibc in a made-up memory: what is in use, and how much is read for it. */
#include "capture/outside/glibc_heap.h"
#include "capture/outside/remote_memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

enum { BASE = 1 << 30, BYTES = 1 << 20, CHUNK = 32, IN_USE = 1, MISSING = UINT16_MAX };

bool __wrap_remote_open(struct remote_memory *memory, uint32_t pid);
void __wrap_remote_close(struct remote_memory *memory);
bool __wrap_remote_word(struct remote_memory *memory, uint64_t addr, uint64_t *word);
FILE *__wrap_fopen64(const char *path, const char *mode);

static uint64_t heap_words[BYTES / 8];
static unsigned reads, objects;

bool __wrap_remote_open(struct remote_memory *memory, uint32_t pid)
{
    (void)memory, (void)pid;
    return true;
}

void __wrap_remote_close(struct remote_memory *memory)
{
    (void)memory;
}

bool __wrap_remote_word(struct remote_memory *memory, uint64_t addr, uint64_t *word)
{
    (void)memory;
    reads++;
    *word = heap_words[(addr - BASE) / 8];
    return *word != MISSING;
}

FILE *__wrap_fopen64(const char *path, const char *mode)
{
    static char text[100];
    (void)path, (void)mode;
    snprintf(text, sizeof text, "%x-%x rw-p 00000000 00:00 0 [heap]\n", BASE, BASE + BYTES);
    return fmemopen(text, strlen(text), "r");
}

static void see(void *context, const struct event *event)
{
    (void)context;
    objects += event->kind == EVENT_ALLOC;
}

/* Chunks in use from `first` to the end. */
static void fill(uint64_t first)
{
    memset(heap_words, 0, sizeof heap_words);
    for (uint64_t at = first; at < BYTES; at += CHUNK)
        heap_words[at / 8 + 1] = CHUNK | IN_USE;
}

static unsigned look(void)
{
    struct sink sink = {.tap = see};
    struct glibc_heap *heap = glibc_heap_new(1, BYTES / CHUNK);
    reads = objects = 0;
    glibc_heap_look(heap, &sink, 1);
    glibc_heap_free(heap);
    return objects;
}

static void chunks_are_found_behind_what_is_none(void **state)
{
    (void)state;
    fill(0);
    assert_int_equal(look(), BYTES / CHUNK - 1); /* the last one is what malloc has left */
    fill(4096);
    heap_words[65] = 5 * 4096 + 16; /* looks like a chunk, and leads between two */
    assert_int_equal(look(), (BYTES - 4096) / CHUNK - 1);
}

static void a_heap_that_breaks_is_read_once(void **state)
{
    (void)state;
    fill(0);
    heap_words[BYTES / 16 + 1] = MISSING;
    assert_int_equal(look(), 0);
    assert_in_range(reads, BYTES / CHUNK / 2, BYTES / CHUNK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chunks_are_found_behind_what_is_none),
        cmocka_unit_test(a_heap_that_breaks_is_read_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
