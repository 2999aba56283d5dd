#include "symbols/binary.h"

#include "base/mem.h"
#include "base/units.h"
#include "symbols/cut_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
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

/* Opening a device may do something: what kind of file it is is asked of one that is not open for reading yet, and that one is opened. */
static int open_regular(const char *path)
{
    struct stat status;
    char same[32];
    int found = open(path, O_PATH | O_CLOEXEC), fd = -1;
    if (found < 0 || fstat(found, &status) != 0)
        return -1;
    snprintf(same, sizeof same, "/proc/self/fd/%d", found);
    errno = 0;
    if (S_ISREG(status.st_mode)) {
        fd = open(same, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        if (fd < 0 && errno == ENOENT) /* no /proc here */
            fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    }
    int cause = errno;
    close(found);
    errno = cause;
    return fd;
}

struct binary *binary_open(const char *path, char **why)
{
    elf_version(EV_CURRENT);
    struct binary *binary = mem_zalloc(sizeof *binary);
    binary->fd = binary->watched = -1;
    if (strcmp(path, "[vdso]") == 0) {
        binary->elf = open_vdso();
    } else {
        binary->fd = open_regular(path);
        if (binary->fd < 0)
            return refuse(binary, why,
                          errno ? mem_format("cannot be read: %s", strerror(errno))
                                : mem_strdup("is not a regular file"));
        binary->watched = cut_file_watch();
        binary->elf = elf_begin(binary->fd, ELF_C_READ_MMAP, NULL);
        size_t bytes = 0;
        const void *start = binary->elf ? elf_rawfile(binary->elf, &bytes) : NULL;
        cut_file_mapped(binary->watched, start, bytes);
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
    cut_file_forget(binary->watched);
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

/* No more than the file has room for: where there are many, their number is in a section's header, and libelf believes it. */
static size_t segment_count(const struct binary *binary)
{
    size_t count = 0, bytes = 0;
    elf_getphdrnum(binary->elf, &count);
    elf_rawfile(binary->elf, &bytes);
    return count < bytes / sizeof(Elf32_Phdr) ? count : bytes / sizeof(Elf32_Phdr);
}

bool binary_address_of_offset(const struct binary *binary, uint64_t offset, uint64_t *addr)
{
    size_t count = segment_count(binary);
    GElf_Phdr segment;
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
    size_t count = segment_count(binary);
    GElf_Phdr segment;
    *low = UINT64_MAX;
    *high = 0;
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
