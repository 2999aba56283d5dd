#include "base/sanitizer.h"

#include "base/sys.h"

#include <elf.h>
#include <string.h>

enum {
    SEGMENTS_MOST = 32,
    ENTRIES_MOST = 512,   /* of the dynamic section */
    CHAIN_MOST = 256,     /* symbols in a bucket */
    IMPORTS_MOST = 16384, /* symbols that others define */
    INTERPRETERS_MOST = 4,
    NAME_BYTES = 48,
    LINE_BYTES = 256, /* of a script's first line, as the kernel reads it */
    BATCH = 16,
};

/* Every runtime that is linked into the program uses this (a weak symbol) where somebody defines it. */
static const char any_runtime[] = "__sanitizer_symbolize_code";

struct image {
    int fd;
    unsigned count;
    Elf64_Phdr segments[SEGMENTS_MOST];
    uint64_t strings, symbols, hash; /* addresses; 0: none */
};

static long read_file(int fd, uint64_t offset, void *to, size_t size)
{
    return sys_call(SYS_pread64, fd, to, size, offset);
}

/* Bytes that were read: fewer than asked for where the segment ends. */
static size_t read_address(const struct image *image, uint64_t address, void *to, size_t size)
{
    for (unsigned i = 0; i < image->count; i++) {
        const Elf64_Phdr *segment = &image->segments[i];
        uint64_t offset = address - segment->p_vaddr, left = segment->p_filesz - offset;
        if (segment->p_type != PT_LOAD || offset >= segment->p_filesz)
            continue;
        long got = read_file(image->fd, segment->p_offset + offset, to, size < left ? size : left);
        return got > 0 ? (size_t)got : 0;
    }
    return 0;
}

static void read_name(const struct image *image, uint64_t offset, char name[NAME_BYTES])
{
    memset(name, 0, NAME_BYTES);
    read_address(image, image->strings + offset, name, NAME_BYTES - 1);
}

static bool read_segments(struct image *image)
{
    Elf64_Ehdr header;
    if (read_file(image->fd, 0, &header, sizeof header) != sizeof header ||
        memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
        header.e_ident[EI_DATA] != ELFDATA2LSB || header.e_phentsize != sizeof(Elf64_Phdr) ||
        header.e_phnum > SEGMENTS_MOST)
        return false;
    size_t bytes = header.e_phnum * sizeof(Elf64_Phdr);
    image->count = header.e_phnum;
    return read_file(image->fd, header.e_phoff, image->segments, bytes) == (long)bytes;
}

static bool is_runtime(const char *library)
{
    static const char *const names[] = {
        "libasan.so",       "libtsan.so",       "liblsan.so",       "libhwasan.so",      "libclang_rt.asan",
        "libclang_rt.tsan", "libclang_rt.msan", "libclang_rt.lsan", "libclang_rt.dfsan", "libclang_rt.hwasan"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strncmp(library, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

/* Goes through the dynamic section: first for its addresses, then, when these are known, for the libraries. */
static bool needs_runtime(struct image *image, bool libraries)
{
    const Elf64_Phdr *dynamic = NULL;
    for (unsigned i = 0; i < image->count; i++)
        if (image->segments[i].p_type == PT_DYNAMIC)
            dynamic = &image->segments[i];
    for (size_t first = 0; dynamic && first < ENTRIES_MOST && first < dynamic->p_filesz / sizeof(Elf64_Dyn);
         first += BATCH) {
        Elf64_Dyn entries[BATCH] = {0};
        char name[NAME_BYTES];
        if (read_file(image->fd, dynamic->p_offset + first * sizeof *entries, entries, sizeof entries) <= 0)
            return false;
        for (unsigned i = 0; i < BATCH; i++) {
            uint64_t value = entries[i].d_un.d_ptr;
            switch (entries[i].d_tag) {
            case DT_NULL:
                return false;
            case DT_STRTAB:
                image->strings = value;
                break;
            case DT_SYMTAB:
                image->symbols = value;
                break;
            case DT_GNU_HASH:
                image->hash = value;
                break;
            case DT_NEEDED:
                if (!libraries)
                    break;
                read_name(image, value, name);
                if (is_runtime(name))
                    return true;
                break;
            default:
                break;
            }
        }
    }
    return false;
}

static bool is_named(const struct image *image, const Elf64_Sym *symbol, const char *wanted)
{
    char name[NAME_BYTES];
    read_name(image, symbol->st_name, name);
    return strcmp(name, wanted) == 0;
}

static uint32_t hash_of(const char *name)
{
    uint32_t hash = 5381;
    for (; *name; name++)
        hash = hash * 33 + (unsigned char)*name;
    return hash;
}

/* What the dynamic linker does to find a symbol that the program defines. `*imports`: how many it does not define. */
static bool defines(const struct image *image, const char *name, uint32_t *imports)
{
    struct {
        uint32_t buckets, first, bloom_words, bloom_shift;
    } table;
    uint32_t hash = hash_of(name), index = 0, chained;
    if (!image->hash || read_address(image, image->hash, &table, sizeof table) != sizeof table || table.buckets == 0)
        return false;
    *imports = table.first;
    uint64_t buckets = image->hash + sizeof table + table.bloom_words * sizeof(uint64_t),
             chain = buckets + table.buckets * sizeof(uint32_t);
    if (read_address(image, buckets + hash % table.buckets * sizeof index, &index, sizeof index) != sizeof index ||
        index < table.first)
        return false;
    for (unsigned i = 0; i < CHAIN_MOST; i++, index++) {
        uint64_t at = chain + (uint64_t)(index - table.first) * sizeof chained;
        if (read_address(image, at, &chained, sizeof chained) != sizeof chained)
            return false;
        Elf64_Sym symbol;
        if ((chained | 1) == (hash | 1) &&
            read_address(image, image->symbols + (uint64_t)index * sizeof symbol, &symbol, sizeof symbol) ==
                sizeof symbol &&
            is_named(image, &symbol, name))
            return symbol.st_shndx != SHN_UNDEF; /* one at a fixed address may only have a stub for libc's */
        if (chained & 1)
            return false;
    }
    return false;
}

/* A runtime inside the program itself: a malloc, which few programs have, and what every runtime asks for. */
static bool has_runtime(const struct image *image)
{
    uint32_t imports;
    if (!defines(image, "malloc", &imports))
        return false;
    for (uint32_t first = 0; first < imports && first < IMPORTS_MOST; first += BATCH) {
        Elf64_Sym batch[BATCH] = {0};
        if (read_address(image, image->symbols + first * sizeof *batch, batch, sizeof batch) == 0)
            return false;
        for (unsigned i = 0; i < BATCH; i++)
            if (ELF64_ST_BIND(batch[i].st_info) == STB_WEAK && batch[i].st_shndx == SHN_UNDEF &&
                is_named(image, &batch[i], any_runtime))
                return true;
    }
    return false;
}

static __attribute__((noinline)) bool look_at_elf(int fd)
{
    struct image image = {.fd = fd};
    if (!read_segments(&image))
        return false;
    needs_runtime(&image, false);
    return image.strings && image.symbols && (needs_runtime(&image, true) || has_runtime(&image));
}

static int open_program(int directory, const char *path)
{
    return (int)sys_call(SYS_openat, directory, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0);
}

static bool look(int fd, unsigned depth)
{
    char line[LINE_BYTES] = "";
    if (read_file(fd, 0, line, sizeof line - 1) <= 2 || line[0] != '#' || line[1] != '!')
        return look_at_elf(fd);
    char *name = line + 2 + strspn(line + 2, " \t");
    name[strcspn(name, " \t\n")] = '\0';
    int interpreter = depth < INTERPRETERS_MOST ? open_program(AT_FDCWD, name) : -1;
    if (interpreter < 0)
        return false;
    bool found = look(interpreter, depth + 1);
    sys_close(interpreter);
    return found;
}

bool sanitizer_in_file(int fd)
{
    return look(fd, 0);
}

bool sanitizer_in_program(int directory, const char *path)
{
    int fd = open_program(directory, path);
    if (fd < 0)
        return false;
    bool found = look(fd, 0);
    sys_close(fd);
    return found;
}

bool sanitizer_in_list(const char *list)
{
    for (const char *name = list; *list; list++)
        if (strchr("/ :", *list))
            name = list + 1;
        else if (list == name && is_runtime(name))
            return true;
    return false;
}
