#include "symbols/binary.h"

#include "base/mem.h"
#include "base/units.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

static void read_build_id(struct binary *binary)
{
    Elf_Scn *section = NULL;
    while ((section = elf_nextscn(binary->elf, section))) {
        GElf_Shdr header;
        if (!gelf_getshdr(section, &header) || header.sh_type != SHT_NOTE || !(header.sh_flags & SHF_ALLOC))
            continue;
        Elf_Data *data = elf_getdata(section, NULL);
        GElf_Nhdr note;
        size_t name_at, id_at, next = 0;
        while (data && (next = gelf_getnote(data, next, &note, &name_at, &id_at)) > 0) {
            if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != sizeof "GNU" || note.n_descsz == 0 ||
                note.n_descsz > BUILD_ID_MOST || memcmp((char *)data->d_buf + name_at, "GNU", sizeof "GNU") != 0)
                continue;
            memcpy(binary->build_id, (char *)data->d_buf + id_at, note.n_descsz);
            binary->build_id_size = note.n_descsz;
            return;
        }
    }
}

/* The kernel maps one image into every process; its size is reported by its own section table, which is its end. */
static Elf *open_vdso(void)
{
    const Elf64_Ehdr *image = (const Elf64_Ehdr *)getauxval(AT_SYSINFO_EHDR);
    if (!image || sizeof(void *) != 8)
        return NULL;
    return elf_memory((char *)image, image->e_shoff + (size_t)image->e_shentsize * image->e_shnum);
}

static struct binary *refuse(struct binary *binary, char **why, char *text)
{
    binary_close(binary);
    if (why)
        *why = text;
    else
        free(text);
    return NULL;
}

struct binary *binary_open(const char *path, char **why)
{
    elf_version(EV_CURRENT);
    struct binary *binary = mem_zalloc(sizeof *binary);
    binary->fd = -1;
    if (strcmp(path, "[vdso]") == 0) {
        binary->elf = open_vdso();
    } else {
        /* Mapped files can be devices and pipes too: never wait for one. */
        binary->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        struct stat status;
        if (binary->fd < 0 || fstat(binary->fd, &status) != 0)
            return refuse(binary, why, mem_format("cannot be read: %s", strerror(errno)));
        if (!S_ISREG(status.st_mode))
            return refuse(binary, why, mem_strdup("is not a regular file"));
        binary->elf = elf_begin(binary->fd, ELF_C_READ_MMAP, NULL);
    }
    if (!binary->elf)
        return refuse(binary, why, mem_format("cannot be read as ELF: %s", elf_errmsg(-1)));
    GElf_Ehdr header;
    if (elf_kind(binary->elf) != ELF_K_ELF || !gelf_getehdr(binary->elf, &header))
        return refuse(binary, why, mem_strdup("is not an ELF file"));
    if (header.e_type != ET_EXEC && header.e_type != ET_DYN)
        return refuse(binary, why, mem_strdup("is neither a program nor a shared library"));
    read_build_id(binary);
    return binary;
}

void binary_close(struct binary *binary)
{
    if (!binary)
        return;
    if (binary->elf)
        elf_end(binary->elf);
    if (binary->fd >= 0)
        close(binary->fd);
    free(binary);
}

Elf_Scn *binary_section(const struct binary *binary, const char *name, GElf_Shdr *header)
{
    size_t names;
    if (elf_getshdrstrndx(binary->elf, &names) != 0)
        return NULL;
    Elf_Scn *section = NULL;
    while ((section = elf_nextscn(binary->elf, section))) {
        if (!gelf_getshdr(section, header))
            continue;
        const char *found = elf_strptr(binary->elf, names, header->sh_name);
        if (found && strcmp(found, name) == 0)
            return section;
    }
    return NULL;
}

Elf_Data *binary_section_data(const struct binary *binary, const char *name, GElf_Shdr *header)
{
    Elf_Scn *section = binary_section(binary, name, header);
    if (!section || header->sh_type == SHT_NOBITS)
        return NULL;
    Elf_Data *data = elf_rawdata(section, NULL);
    return data && data->d_buf ? data : NULL;
}

bool binary_has_dwarf(const struct binary *binary)
{
    GElf_Shdr header;
    return (binary_section(binary, ".debug_info", &header) && header.sh_type != SHT_NOBITS) ||
           (binary_section(binary, ".zdebug_info", &header) && header.sh_type != SHT_NOBITS);
}

bool binary_address_of_offset(const struct binary *binary, uint64_t offset, uint64_t *addr)
{
    size_t count = 0;
    GElf_Phdr segment;
    elf_getphdrnum(binary->elf, &count);
    for (size_t i = 0; i < count; i++) {
        if (!gelf_getphdr(binary->elf, (int)i, &segment) || segment.p_type != PT_LOAD)
            continue;
        uint64_t before = segment.p_offset % PAGE_UNIT; /* a mapping begins at a whole page */
        if (offset + before < segment.p_offset || offset >= segment.p_offset + segment.p_filesz)
            continue;
        *addr = offset - segment.p_offset + segment.p_vaddr;
        return true;
    }
    return false;
}

bool binary_extent(const struct binary *binary, uint64_t *low, uint64_t *high)
{
    size_t count = 0;
    GElf_Phdr segment;
    *low = UINT64_MAX;
    *high = 0;
    elf_getphdrnum(binary->elf, &count);
    for (size_t i = 0; i < count; i++) {
        if (!gelf_getphdr(binary->elf, (int)i, &segment) || segment.p_type != PT_LOAD)
            continue;
        uint64_t start = segment.p_vaddr / PAGE_UNIT * PAGE_UNIT;
        uint64_t end = (segment.p_vaddr + segment.p_memsz + PAGE_UNIT - 1) / PAGE_UNIT * PAGE_UNIT;
        *low = start < *low ? start : *low;
        *high = end > *high ? end : *high;
    }
    return *low < *high;
}
