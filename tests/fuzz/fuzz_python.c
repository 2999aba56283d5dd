/* fuzz_python.c - any bytes as the memory of a process that runs Python, with the places of its structures by version or, as of 3.13, by
 * what it says itself. */
#include "base/python_frames.h"

#include <stdlib.h>

enum { BASE = 1 << 16, PUBLISHED = 64 * 8, READS_MOST = 3000000 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct memory {
    const uint8_t *bytes;
    size_t size;
    unsigned reads;
};

static bool read_memory(void *context, uint64_t from, void *to, size_t bytes)
{
    struct memory *memory = context;
    if (++memory->reads > READS_MOST)
        abort();
    if (from < BASE || from - BASE > memory->size || bytes > memory->size - (from - BASE))
        return false;
    memcpy(to, memory->bytes + (from - BASE), bytes);
    return true;
}

static void name(const struct python_where *where, const struct python_reader *reader, const struct python_frame *frame,
                 unsigned offset, size_t room, bool tail)
{
    char *text = malloc(room);
    size_t length = python_text(where, reader, python_head(frame, offset), text, room, tail);
    if (length > room || (length && strlen(text) + 1 != length))
        abort();
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint64_t published[64] = {0}, versions[] = {0x030b02f0, 0x030c01f0, 0x030d00f0};
    struct python_where where = {.runtime = BASE, .code_type = BASE};
    struct python_frame frames[PYTHON_FRAMES];
    if (size < 1)
        return 0;
    unsigned which = data[0] % 3;
    struct memory memory = {data + 1, size - 1, 0};
    const struct python_reader reader = {read_memory, &memory};
    memcpy(published, memory.bytes, memory.size < PUBLISHED ? memory.size : PUBLISHED);
    if (!python_layout_of(&where.layout, versions[which], published))
        return 0;
    uint64_t thread = python_thread(&where, &reader, 7);
    unsigned count = python_walk(&where, &reader, thread ? thread : BASE, frames);
    for (unsigned i = 0; i < count; i++) {
        python_line(&where, &reader, &frames[i]);
        name(&where, &reader, &frames[i], where.layout.name, PYTHON_NAME, false);
        name(&where, &reader, &frames[i], where.layout.file, PYTHON_FILE, true);
    }
    return 0;
}
