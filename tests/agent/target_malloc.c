/* A program with a malloc of its own, which takes the place of everybody's. */
#include <stdlib.h>
#include <string.h>

static char memory[1 << 20] __attribute__((aligned(16)));
static size_t used;

void *malloc(size_t size)
{
    void *block = memory + used;
    used += (size + 31) & ~(size_t)15;
    return used > sizeof memory ? NULL : block;
}

void free(void *block)
{
    (void)block;
}

void *calloc(size_t count, size_t size)
{
    return malloc(count * size);
}

void *realloc(void *block, size_t size)
{
    void *changed = malloc(size);
    if (block && changed)
        memcpy(changed, block, size);
    return changed;
}

int main(void)
{
    return malloc(10) == NULL;
}
