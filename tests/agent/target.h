/* tests/agent/target.h - how a test program says what it did: one line per fact on standard output, written without
 * allocating, checked by test_agent.c against the records. */
#ifndef NUMALENS_TESTS_TARGET_H
#define NUMALENS_TESTS_TARGET_H

#include "wire/event.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static inline void say(const char *format, ...)
{
    char line[256];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    if (write(1, line, (size_t)length) != length)
        _exit(99);
}

#define WHO (int)getpid(), (int)syscall(SYS_gettid)

static inline void say_alloc(enum alloc_fn fn, const volatile void *addr, size_t size)
{
    say("alloc %d %d %d %p %zu\n", WHO, (int)fn, addr, size);
}

static inline void say_free(enum alloc_fn fn, const volatile void *addr)
{
    say("free %d %d %d %p\n", WHO, (int)fn, addr);
}

static inline void say_map(enum map_kind kind, const volatile void *addr, size_t size)
{
    say("map %d %d %d %p %zu\n", WHO, (int)kind, addr, size);
}

static inline void say_unmap(const volatile void *addr, size_t size)
{
    say("unmap %d %d 0 %p %zu\n", WHO, addr, size);
}

/* The program checks by itself what it can see: that the agent changed nothing. */
#define MUST(fact)                                                                                                     \
    do {                                                                                                               \
        if (!(fact)) {                                                                                                 \
            say("broken %s:%d %s\n", __FILE__, __LINE__, #fact);                                                       \
            _exit(98);                                                                                                 \
        }                                                                                                              \
    } while (0)

#endif
