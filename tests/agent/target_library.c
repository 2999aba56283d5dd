/* A library that allocates before main and releases after it. */
#include <stdlib.h>

void *library_block(void);

static void *block;

static __attribute__((constructor)) void begin(void)
{
    block = malloc(555);
}

static __attribute__((destructor)) void finish(void)
{
    free(block);
}

void *library_block(void)
{
    return block;
}
