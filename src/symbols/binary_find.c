/* symbols/binary_find.c - where the file that was recorded may be: in a tree of the other machine's files, where it was, or in
 * perf's cache. */
#include "symbols/binary.h"

#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_build(const struct binary *binary, const uint8_t *id, size_t size)
{
    return size == 0 || (binary->build_id_size == size && memcmp(binary->build_id, id, size) == 0);
}

/* Takes `path`. NULL with the reason in `*why` (the one before it is freed) when it is not that build. */
static struct binary *try_build(char *path, const uint8_t *id, size_t size, char **why)
{
    char *reason = NULL;
    struct binary *found = binary_open(path, &reason);
    free(path);
    if (found && !is_build(found, id, size)) {
        binary_close(found);
        found = NULL;
        reason = mem_strdup("has changed since the recording (its build-id differs)");
    }
    free(*why);
    *why = reason;
    return found;
}

/* ~/.debug/.build-id/12/345... is a link to a folder with `elf` in it; before Linux 4.12, to the file itself. */
static struct binary *find_in_perf_cache(const uint8_t *id, size_t size)
{
    const char *home = getenv("HOME");
    char hex[2 * BUILD_ID_MOST + 1], *ignored = NULL;
    if (!home || !*home || size < 2 || size > BUILD_ID_MOST)
        return NULL;
    for (size_t i = 0; i < size; i++)
        snprintf(hex + 2 * i, 3, "%02x", id[i]);
    struct binary *found =
        try_build(mem_format("%s/.debug/.build-id/%.2s/%s/elf", home, hex, hex + 2), id, size, &ignored);
    if (!found)
        found = try_build(mem_format("%s/.debug/.build-id/%.2s/%s", home, hex, hex + 2), id, size, &ignored);
    free(ignored);
    return found;
}

struct binary *binary_find(const char *path, const char *root, const uint8_t *id, size_t size, char **why)
{
    struct binary *found = NULL;
    bool in_root = root && *path == '/';
    *why = NULL;
    if (in_root)
        found = try_build(mem_format("%s%s", root, path), id, size, why);
    /* A file of this machine has the same path as one of another: only a build-id distinguishes them. */
    if (!found && (!in_root || size)) {
        char *reason = NULL;
        found = try_build(mem_strdup(path), id, size, &reason);
        free(*why);
        *why = reason;
    }
    if (!found && *path == '/')
        found = find_in_perf_cache(id, size);
    if (found) {
        free(*why);
        *why = NULL;
    }
    return found;
}
