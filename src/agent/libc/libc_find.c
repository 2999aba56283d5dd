#include "agent/libc/libc_find.h"

#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { VERSION_HIDDEN = 0x8000 }; /* in DT_VERSYM: not the version that new programs are linked with */

struct symbols {
    uint64_t bias;
    const char *names, *soname;
    const ElfW(Sym) * table;
    const uint16_t *versions;
    const uint32_t *hash;
};

/* The linker relocates these entries in place, except where they are read-only (the vDSO). */
static const void *address_of(const struct link_map *map, const ElfW(Dyn) * entry)
{
    return (const void *)(entry->d_un.d_ptr < map->l_addr ? entry->d_un.d_ptr + map->l_addr : entry->d_un.d_ptr);
}

static bool read_symbols(const struct link_map *map, struct symbols *symbols)
{
    uint64_t soname = 0;
    *symbols = (struct symbols){.bias = map->l_addr};
    for (const ElfW(Dyn) *entry = map->l_ld; entry && entry->d_tag != DT_NULL; entry++) {
        if (entry->d_tag == DT_SONAME)
            soname = entry->d_un.d_val;
        else if (entry->d_tag == DT_STRTAB)
            symbols->names = address_of(map, entry);
        else if (entry->d_tag == DT_SYMTAB)
            symbols->table = address_of(map, entry);
        else if (entry->d_tag == DT_VERSYM)
            symbols->versions = address_of(map, entry);
        else if (entry->d_tag == DT_GNU_HASH)
            symbols->hash = address_of(map, entry);
    }
    if (!symbols->names || !symbols->table || !symbols->hash || !soname)
        return false;
    symbols->soname = symbols->names + soname;
    return true;
}

/* The library itself, and what it was made of before glibc 2.34. */
static bool is_libc(const char *soname)
{
    static const char *const starts[] = {"libc.so.6", "ld-linux", "libdl.so.2", "libpthread.so.0"};
    for (unsigned i = 0; i < sizeof starts / sizeof *starts; i++)
        if (strncmp(soname, starts[i], strlen(starts[i])) == 0)
            return true;
    return false;
}

static uint32_t hash_of(const char *name)
{
    uint32_t hash = 5381;
    for (; *name; name++)
        hash = hash * 33 + (uint8_t)*name;
    return hash;
}

static void *look_up(const struct symbols *in, const char *name, uint32_t hash)
{
    uint32_t buckets = in->hash[0], first = in->hash[1], words = in->hash[2];
    const uint32_t *bucket = in->hash + 4 + words * 2, *chain = bucket + buckets;
    uint32_t at = buckets ? bucket[hash % buckets] : 0;
    if (at < first)
        return NULL;
    for (;; at++) {
        const ElfW(Sym) *symbol = &in->table[at];
        bool is_default = !in->versions || !(in->versions[at] & VERSION_HIDDEN);
        if ((chain[at - first] | 1) == (hash | 1) && is_default && symbol->st_shndx != SHN_UNDEF &&
            ELF64_ST_TYPE(symbol->st_info) == STT_FUNC && strcmp(in->names + symbol->st_name, name) == 0)
            return (void *)(in->bias + symbol->st_value);
        if (chain[at - first] & 1)
            return NULL;
    }
}

void *libc_find(const char *name)
{
    uint32_t hash = hash_of(name);
    void *found = NULL;
    struct symbols symbols;
    for (const struct link_map *map = _r_debug.r_map; map && !found; map = map->l_next)
        if (read_symbols(map, &symbols) && is_libc(symbols.soname))
            found = look_up(&symbols, name, hash);
    return found;
}
