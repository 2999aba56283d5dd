/* no_binary.h - binaries that an input names are not opened: fuzz_elf reads those. For targets linked with --wrap=binary_open. */
#ifndef NUMALENS_TESTS_FUZZ_NO_BINARY_H
#define NUMALENS_TESTS_FUZZ_NO_BINARY_H

#include "symbols/binary.h"
#include <string.h>

struct binary *__wrap_binary_open(const char *path, char **why);

struct binary *__wrap_binary_open(const char *path, char **why)
{
    (void)path;
    if (why)
        *why = strdup("is not here");
    return NULL;
}

#endif
