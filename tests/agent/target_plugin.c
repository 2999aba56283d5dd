/* A library that is loaded by name, while the program runs. */
#include <stdlib.h>

void *plugin_block(size_t size);

void *plugin_block(size_t size)
{
    void *volatile block = malloc(size);
    return block;
}
