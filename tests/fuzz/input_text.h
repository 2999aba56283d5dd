/* tests/fuzz/input_text.h - an input as a text or a stream. */
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A copy that ends with a NUL and is no longer than that: a step beyond it is seen. The caller frees it. */
static inline char *input_text(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    if (size)
        memcpy(text, data, size);
    text[size] = '\0';
    return text;
}

/* For reading; NULL when there is nothing in it. The caller closes it. */
static inline FILE *input_stream(const uint8_t *data, size_t size)
{
    return size ? fmemopen((void *)(uintptr_t)data, size, "r") : NULL;
}
