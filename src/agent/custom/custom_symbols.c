/* agent/custom/custom_symbols.c - see agent/custom/custom_symbols.h. Files may be damaged: every offset is checked. */
#include "agent/custom/custom_symbols.h"

#include "base/sys.h"

#include <elf.h>
#include <string.h>
#include <sys/stat.h>

static const uint8_t *map_file(const char *path, size_t *size)
{
    int fd = sys_open_read(path);
    if (fd < 0)
        return NULL;
    struct stat file;
    const uint8_t *bytes = NULL;
    if (sys_call(SYS_fstat, fd, &file) == 0 && S_ISREG(file.st_mode) && file.st_size >= (off_t)sizeof(Elf64_Ehdr)) {
        long mapped = sys_call(SYS_mmap, NULL, file.st_size, PROT_READ, MAP_PRIVATE, fd, 0L);
        if (mapped > 0 || mapped < -4095) {
            bytes = (const uint8_t *)mapped;
            *size = (size_t)file.st_size;
        }
    }
    sys_close(fd);
    return bytes;
}

static bool is_inside(uint64_t offset, uint64_t length, size_t size)
{
    return offset <= size && length <= size - offset;
}

static bool is_elf(const uint8_t *bytes, size_t size)
{
    const Elf64_Ehdr *head = (const Elf64_Ehdr *)bytes;
    return size >= sizeof *head && memcmp(head->e_ident, ELFMAG, SELFMAG) == 0 &&
           head->e_ident[EI_CLASS] == ELFCLASS64 && head->e_ident[EI_DATA] == ELFDATA2LSB;
}

static const Elf64_Shdr *section_of(const uint8_t *bytes, size_t size, uint32_t index)
{
    const Elf64_Ehdr *head = (const Elf64_Ehdr *)bytes;
    uint64_t offset = head->e_shoff + (uint64_t)index * sizeof(Elf64_Shdr);
    if (head->e_shentsize != sizeof(Elf64_Shdr) || head->e_shoff % 8 || head->e_shoff > size ||
        !is_inside(offset, sizeof(Elf64_Shdr), size))
        return NULL;
    return (const Elf64_Shdr *)(bytes + offset);
}

static const Elf64_Shdr *section_typed(const uint8_t *bytes, size_t size, uint32_t type)
{
    const Elf64_Shdr *section;
    for (uint32_t i = 0; i < ((const Elf64_Ehdr *)bytes)->e_shnum && (section = section_of(bytes, size, i)); i++)
        if (section->sh_type == type && is_inside(section->sh_offset, section->sh_size, size))
            return section;
    return NULL;
}

/* "/usr/lib/debug/.build-id/ab/cdef.debug" of the build id in the file's notes. */
static bool debug_path(const struct custom_file *file, char *path, size_t room)
{
    static const char head[] = "/usr/lib/debug/.build-id/", digits[] = "0123456789abcdef";
    const Elf64_Shdr *section;
    for (uint32_t i = 0;
         i < ((const Elf64_Ehdr *)file->bytes)->e_shnum && (section = section_of(file->bytes, file->size, i)); i++) {
        const Elf64_Nhdr *note = (const Elf64_Nhdr *)(file->bytes + section->sh_offset);
        if (section->sh_type != SHT_NOTE || section->sh_size < sizeof *note + 4 || section->sh_offset % 4 ||
            !is_inside(section->sh_offset, section->sh_size, file->size) || note->n_type != NT_GNU_BUILD_ID ||
            note->n_namesz != 4 || note->n_descsz < 2 || note->n_descsz > section->sh_size - sizeof *note - 4)
            continue;
        const uint8_t *id = (const uint8_t *)(note + 1) + 4;
        if (sizeof head + note->n_descsz * 2u + sizeof "/.debug" > room)
            return false;
        memcpy(path, head, sizeof head);
        char *at = path + sizeof head - 1;
        for (uint32_t byte = 0; byte < note->n_descsz; byte++) {
            *at++ = digits[id[byte] >> 4];
            *at++ = digits[id[byte] & 15];
            if (byte == 0)
                *at++ = '/';
        }
        memcpy(at, ".debug", sizeof ".debug");
        return true;
    }
    return false;
}

bool custom_file_open(struct custom_file *file, const char *path)
{
    *file = (struct custom_file){0};
    file->bytes = map_file(path, &file->size);
    if (!file->bytes || !is_elf(file->bytes, file->size)) {
        custom_file_close(file);
        return false;
    }
    char debug[160];
    if (!section_typed(file->bytes, file->size, SHT_SYMTAB) && debug_path(file, debug, sizeof debug))
        file->debug = map_file(debug, &file->debug_size);
    if (file->debug && !is_elf(file->debug, file->debug_size)) {
        sys_unmap((void *)file->debug, file->debug_size);
        file->debug = NULL;
    }
    return true;
}

void custom_file_close(struct custom_file *file)
{
    if (file->bytes)
        sys_unmap((void *)file->bytes, file->size);
    if (file->debug)
        sys_unmap((void *)file->debug, file->debug_size);
    *file = (struct custom_file){0};
}

static void each_in(const uint8_t *bytes, size_t size, uint32_t type, bool data,
                    void (*visit)(void *context, const struct custom_symbol *symbol), void *context)
{
    const Elf64_Shdr *table = section_typed(bytes, size, type);
    const Elf64_Shdr *texts = table ? section_of(bytes, size, table->sh_link) : NULL;
    if (!texts || table->sh_offset % 8 || !is_inside(texts->sh_offset, texts->sh_size, size) || texts->sh_size == 0 ||
        bytes[texts->sh_offset + texts->sh_size - 1] != '\0')
        return;
    const Elf64_Sym *symbols = (const Elf64_Sym *)(bytes + table->sh_offset);
    for (uint64_t i = 0; i < table->sh_size / sizeof *symbols; i++) {
        unsigned kind = ELF64_ST_TYPE(symbols[i].st_info);
        if ((kind != STT_FUNC && kind != STT_GNU_IFUNC && !(data && kind == STT_OBJECT)) ||
            symbols[i].st_shndx == SHN_UNDEF || symbols[i].st_name >= texts->sh_size)
            continue;
        struct custom_symbol symbol = {.name = (const char *)bytes + texts->sh_offset + symbols[i].st_name,
                                       .addr = symbols[i].st_value,
                                       .size = symbols[i].st_size,
                                       .indirect = kind == STT_GNU_IFUNC};
        visit(context, &symbol);
    }
}

void custom_file_each(const struct custom_file *file, void (*visit)(void *context, const struct custom_symbol *symbol),
                      void *context)
{
    if (section_typed(file->bytes, file->size, SHT_SYMTAB))
        each_in(file->bytes, file->size, SHT_SYMTAB, false, visit, context);
    else if (file->debug && section_typed(file->debug, file->debug_size, SHT_SYMTAB))
        each_in(file->debug, file->debug_size, SHT_SYMTAB, false, visit, context);
    else
        each_in(file->bytes, file->size, SHT_DYNSYM, false, visit, context);
}

void custom_file_each_exported(const struct custom_file *file,
                               void (*visit)(void *context, const struct custom_symbol *symbol), void *context)
{
    each_in(file->bytes, file->size, SHT_DYNSYM, true, visit, context);
}

const uint8_t *custom_file_code(const struct custom_file *file, uint64_t addr, uint64_t size)
{
    const Elf64_Ehdr *head = (const Elf64_Ehdr *)file->bytes;
    if (head->e_phentsize != sizeof(Elf64_Phdr) || head->e_phoff % 8 ||
        !is_inside(head->e_phoff, (uint64_t)head->e_phnum * sizeof(Elf64_Phdr), file->size))
        return NULL;
    const Elf64_Phdr *segments = (const Elf64_Phdr *)(file->bytes + head->e_phoff);
    for (unsigned i = 0; i < head->e_phnum; i++) {
        if (segments[i].p_type != PT_LOAD || !(segments[i].p_flags & PF_X) || !(segments[i].p_flags & PF_R) ||
            addr < segments[i].p_vaddr || !is_inside(addr - segments[i].p_vaddr, size, segments[i].p_filesz))
            continue;
        uint64_t offset = segments[i].p_offset + (addr - segments[i].p_vaddr);
        return is_inside(offset, size, file->size) ? file->bytes + offset : NULL;
    }
    return NULL;
}
