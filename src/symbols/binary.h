/* symbols/binary.h - one ELF file, open for reading: the program's own, or one that holds debug information. */
#pragma once

#include <gelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BUILD_ID_MOST = 64 };

struct binary {
    int fd;      /* -1: an image in memory */
    int watched; /* cut_file.h */
    Elf *elf;
    size_t build_id_size; /* 0: it has none */
    uint8_t build_id[BUILD_ID_MOST];
};

/* NULL when it cannot be used; then `*why` (unless NULL) is a text that the caller frees. "[vdso]" is this process's. */
struct binary *binary_open(const char *path, char **why);

/* The file that was recorded as `path`, with that build-id when there is one: below `root` (NULL: no such tree), at its own
 * place, in perf's cache (~/.debug). NULL when none is: then `*why` is a text that the caller frees. */
struct binary *binary_find(const char *path, const char *root, const uint8_t *build_id, size_t build_id_size,
                           char **why);
void binary_close(struct binary *binary);

/* The section of that name with its header, or NULL. */
Elf_Scn *binary_section(const struct binary *binary, const char *name, GElf_Shdr *header);

/* Its bytes as they are in the file, or NULL. */
Elf_Data *binary_section_data(const struct binary *binary, const char *name, GElf_Shdr *header);

/* By the segments that get loaded: see symbols.h. */
bool binary_address_of_offset(const struct binary *binary, uint64_t offset, uint64_t *addr);
bool binary_extent(const struct binary *binary, uint64_t *low, uint64_t *high);

bool binary_has_dwarf(const struct binary *binary);

/* The separate file with its debug information, or NULL: by build-id in each of `directories` ("/usr/lib/debug" comes
 * last by itself) and in debuginfod's cache, then by debug link. `binary` may be NULL: not found. */
struct binary *binary_find_debug(const struct binary *binary, const char *path, const uint8_t *build_id,
                                 size_t build_id_size, const char *const *directories, size_t directory_count);
