/* fuzz_runtime.c - any bytes as what a runtime writes of its own code: perf's map or a jitdump, by the first byte; given in two parts, as
 * a file that grows, and at once. */
#include "symbols/runtime/runtime_code.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct seen {
    size_t count, sum;
};

static void see(void *context, const struct runtime_name *name)
{
    struct seen *seen = context;
    size_t length = strlen(name->name) + strlen(name->file);
    if (name->size == 0 || name->addr + name->size < name->addr || strlen(name->name) >= RUNTIME_NAME_MOST ||
        strlen(name->file) >= RUNTIME_NAME_MOST)
        abort();
    for (const char *at = name->name; *at; at++)
        if ((unsigned char)*at < ' ')
            abort();
    seen->count++;
    seen->sum += name->addr + name->size * 3 + name->line * 5 + length;
}

/* Reads up to `size`, from a copy that ends there. What was taken. */
static size_t read_part(struct jitdump *dump, const uint8_t *data, size_t size, struct seen *seen)
{
    uint8_t *copy = malloc(size + !size);
    if (size)
        memcpy(copy, data, size);
    size_t used = dump ? jitdump_read(dump, copy, size, see, seen) : perf_map_read((const char *)copy, size, see, seen);
    free(copy);
    if (used > size)
        abort();
    return used;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    bool is_dump = data[0] & 1;
    size_t cut = (size_t)(data[0] >> 1) * size / 128;
    struct jitdump dumps[2] = {0};
    struct seen whole = {0}, parts = {0};
    data++;
    size--;
    read_part(is_dump ? &dumps[0] : NULL, data, size, &whole);
    size_t used = read_part(is_dump ? &dumps[1] : NULL, data, cut < size ? cut : size, &parts);
    read_part(is_dump ? &dumps[1] : NULL, data + used, size - used, &parts);
    if (whole.count != parts.count || whole.sum != parts.sum)
        abort();
    jitdump_free(&dumps[0]);
    jitdump_free(&dumps[1]);
    return 0;
}
