/* symbols/debugfile.c - where distributions and build systems put debug information that is not in the program. */
#include "symbols/binary.h"

#include "base/mem.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SYSTEM_DIRECTORY "/usr/lib/debug"

/* Takes `path`. A debug file must not belong to another build. */
static struct binary *try_file(char *path, const uint8_t *build_id, size_t build_id_size)
{
    struct binary *found = binary_open(path, NULL);
    free(path);
    if (found && build_id_size &&
        (found->build_id_size != build_id_size || memcmp(found->build_id, build_id, build_id_size) != 0)) {
        binary_close(found);
        return NULL;
    }
    return found;
}

static struct binary *find_by_build_id(const uint8_t *id, size_t size, const char *const *directories, size_t count)
{
    if (size < 2 || size > BUILD_ID_MOST)
        return NULL;
    char hex[2 * BUILD_ID_MOST + 1];
    for (size_t i = 0; i < size; i++)
        snprintf(hex + 2 * i, 3, "%02x", id[i]);
    struct binary *found = NULL;
    for (size_t i = 0; i <= count && !found; i++) {
        const char *directory = i < count ? directories[i] : SYSTEM_DIRECTORY;
        found = try_file(mem_format("%s/.build-id/%.2s/%s.debug", directory, hex, hex + 2), id, size);
    }
    /* What debuginfod's clients (gdb, valgrind) have fetched before; nothing is fetched from here. */
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (!found && cache && *cache)
        found = try_file(mem_format("%s/debuginfod_client/%s/debuginfo", cache, hex), id, size);
    else if (!found && home && *home)
        found = try_file(mem_format("%s/.cache/debuginfod_client/%s/debuginfo", home, hex), id, size);
    return found;
}

/* The checksum of .gnu_debuglink: CRC-32 as in zlib, bit by bit with a table of 256. */
static bool checksum(int fd, uint32_t *result)
{
    uint32_t table[256];
    for (uint32_t i = 0; i < 256; i++) {
        table[i] = i;
        for (int bit = 0; bit < 8; bit++)
            table[i] = table[i] & 1 ? table[i] >> 1 ^ 0xedb88320u : table[i] >> 1;
    }
    enum { CHUNK = 1 << 16 };
    uint8_t *bytes = mem_alloc(CHUNK);
    uint32_t crc = 0xffffffffu;
    off_t at = 0;
    ssize_t got;
    while ((got = pread(fd, bytes, CHUNK, at)) > 0) {
        for (ssize_t i = 0; i < got; i++)
            crc = table[(crc ^ bytes[i]) & 0xff] ^ crc >> 8;
        at += got;
    }
    free(bytes);
    *result = ~crc;
    return got == 0;
}

static bool belongs(const struct binary *binary, const struct binary *debug, uint32_t crc)
{
    if (binary->build_id_size && debug->build_id_size)
        return binary->build_id_size == debug->build_id_size &&
               memcmp(binary->build_id, debug->build_id, binary->build_id_size) == 0;
    uint32_t found;
    return debug->fd >= 0 && checksum(debug->fd, &found) && found == crc;
}

static struct binary *find_by_link(const struct binary *binary, const char *path, const char *const *directories,
                                   size_t count)
{
    GElf_Shdr header;
    Elf_Data *data = binary_section_data(binary, ".gnu_debuglink", &header);
    const char *slash = strrchr(path, '/');
    if (!data || data->d_size < 8 || !slash)
        return NULL;
    const char *name = data->d_buf;
    size_t length = strnlen(name, data->d_size), crc_at = (length + 4) & ~(size_t)3;
    if (length == 0 || length > NAME_MAX || memchr(name, '/', length) || crc_at + 4 > data->d_size)
        return NULL;
    GElf_Ehdr ehdr;
    gelf_getehdr(binary->elf, &ehdr);
    const uint8_t *bytes = (const uint8_t *)data->d_buf + crc_at;
    uint32_t crc = 0;
    for (int i = 0; i < 4; i++)
        crc |= (uint32_t)bytes[ehdr.e_ident[EI_DATA] == ELFDATA2MSB ? 3 - i : i] << 8 * i;
    int folder = (int)(slash - path);
    for (size_t place = 0; place < count + 3; place++) {
        char *candidate = place == 0 ? mem_format("%.*s/%s", folder, path, name)
                          : place == 1
                              ? mem_format("%.*s/.debug/%s", folder, path, name)
                              : mem_format("%s%.*s/%s", place - 2 < count ? directories[place - 2] : SYSTEM_DIRECTORY,
                                           folder, path, name);
        struct binary *found = try_file(candidate, NULL, 0);
        if (found && belongs(binary, found, crc))
            return found;
        binary_close(found);
    }
    return NULL;
}

struct binary *binary_find_debug(const struct binary *binary, const char *path, const uint8_t *build_id,
                                 size_t build_id_size, const char *const *directories, size_t directory_count)
{
    if (binary) {
        build_id = binary->build_id;
        build_id_size = binary->build_id_size;
    }
    struct binary *found = find_by_build_id(build_id, build_id_size, directories, directory_count);
    if (!found && binary)
        found = find_by_link(binary, path, directories, directory_count);
    return found;
}
