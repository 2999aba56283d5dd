/* hooked_plugin.c - a library with an allocator, for hooked.cc to load while it runs. */
#include <stdlib.h>

void *plugin_alloc(size_t size);

void *plugin_alloc(size_t size)
{
    return malloc(size * 2);
}
