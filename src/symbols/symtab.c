#include "symbols/symtab.h"

#include "base/array.h"

#include <elfutils/libdwfl.h>
#include <string.h>
#include <unistd.h>

/* Marks that the linker sets at the edges of data: no objects, though they have addresses. On x86-64 some have the type of
 * an object, but never a size. */
static bool is_edge(const char *name)
{
    static const char *const edges[] = {
        "_edata",
        "edata",
        "_end",
        "end",
        "__end__",
        "__bss_start",
        "__bss_start__",
        "__bss_end__",
        "_bss_end__",
        "__data_start",
        "data_start",
        "_DYNAMIC",
        "_GLOBAL_OFFSET_TABLE_",
        "__dso_handle",
        "__FRAME_END__",
        "__TMC_END__",
        "_IO_stdin_used",
    };
    for (size_t i = 0; i < sizeof edges / sizeof *edges; i++)
        if (strcmp(name, edges[i]) == 0)
            return true;
    return false;
}

/* How well a name suits an address that has several: the lowest is the one that programmers use. */
static uint32_t rank_of(const char *name, unsigned char info)
{
    uint32_t underscores = 0;
    if (strncmp(name, "_Z", 2) != 0 && strncmp(name, "_R", 2) != 0)
        while (name[underscores] == '_')
            underscores++;
    static const uint32_t of_binding[] = {[STB_LOCAL] = 2, [STB_GLOBAL] = 0, [STB_WEAK] = 1};
    unsigned binding = GELF_ST_BIND(info), type = GELF_ST_TYPE(info);
    return (type == STT_NOTYPE) << 16 | (underscores < 255 ? underscores : 255) << 4 |
           (binding < sizeof of_binding / sizeof *of_binding ? of_binding[binding] : 3);
}

struct section_range {
    uint64_t start, end, flags;
};

typedef array_of(struct section_range) place_list;

static void read_places(const struct binary *binary, place_list *places)
{
    array_push(places, (struct section_range){0});
    Elf_Scn *section = NULL;
    while ((section = elf_nextscn(binary->elf, section))) {
        GElf_Shdr header;
        struct section_range place = {0};
        if (gelf_getshdr(section, &header) && header.sh_flags & SHF_ALLOC && !(header.sh_flags & SHF_TLS) &&
            header.sh_addr + header.sh_size >= header.sh_addr)
            place = (struct section_range){header.sh_addr, header.sh_addr + header.sh_size, header.sh_flags};
        array_push(places, place);
    }
}

static void add_symbol(const GElf_Sym *symbol, const char *name, const place_list *places, struct symtab *symtab)
{
    unsigned type = GELF_ST_TYPE(symbol->st_info);
    if (symbol->st_shndx == SHN_UNDEF || symbol->st_shndx >= places->count || !name || name[0] == '\0')
        return;
    if (type == STT_TLS) {
        table_add(&symtab->thread_locals, (struct table_entry){.start = symbol->st_value,
                                                               .size = symbol->st_size,
                                                               .name = name,
                                                               .rank = rank_of(name, symbol->st_info)});
        return;
    }
    const struct section_range *place = &places->items[symbol->st_shndx];
    if (symbol->st_value < place->start || symbol->st_value >= place->end)
        return;
    bool is_code = place->flags & SHF_EXECINSTR;
    struct table *table;
    if (type == STT_FUNC || type == STT_GNU_IFUNC)
        table = &symtab->functions;
    else if ((type == STT_OBJECT && (symbol->st_size || !is_edge(name))) || type == STT_COMMON)
        table = &symtab->objects;
    else if (type == STT_NOTYPE && name[0] != '$' && name[0] != '.' && !is_edge(name)) /* assembly; $x, .L are not it */
        table = is_code ? &symtab->functions : &symtab->objects;
    else
        return;
    struct table_entry entry = {
        .start = symbol->st_value, .size = symbol->st_size, .name = name, .rank = rank_of(name, symbol->st_info)};
    uint64_t room = place->end - entry.start;
    if (entry.size == 0) {
        entry.open_size = true;
        entry.rank |= 1 << 20;
    }
    if (entry.size == 0 || entry.size > room)
        entry.size = room;
    table_add(table, entry);
}

bool symtab_read(const struct binary *binary, struct symtab *symtab)
{
    place_list places = {0};
    read_places(binary, &places);
    bool complete = false;
    Elf_Scn *section = NULL;
    while ((section = elf_nextscn(binary->elf, section))) {
        GElf_Shdr header;
        if (!gelf_getshdr(section, &header) || (header.sh_type != SHT_SYMTAB && header.sh_type != SHT_DYNSYM) ||
            header.sh_entsize == 0)
            continue;
        Elf_Data *data = elf_getdata(section, NULL);
        size_t count = data ? data->d_size / header.sh_entsize : 0;
        for (size_t i = 1; i < count && i < INT32_MAX; i++) {
            GElf_Sym symbol;
            if (!gelf_getsym(data, (int)i, &symbol))
                break;
            add_symbol(&symbol, elf_strptr(binary->elf, header.sh_link, symbol.st_name), &places, symtab);
        }
        complete |= header.sh_type == SHT_SYMTAB && count > 0;
    }
    array_free(&places);
    return complete;
}

static int find_no_debug(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base, const char *file,
                         const char *link, GElf_Word crc, char **found)
{
    (void)module, (void)data, (void)name, (void)base, (void)file, (void)link, (void)crc, (void)found;
    return -1;
}

/* libdwfl knows how to unpack it; that is all it is used for. */
void symtab_read_minidebug(const struct binary *binary, struct table *functions, struct strtab *names)
{
    GElf_Shdr header;
    if (binary->fd < 0 || !binary_section(binary, ".gnu_debugdata", &header))
        return;
    static const Dwfl_Callbacks callbacks = {
        .find_elf = dwfl_build_id_find_elf,
        .find_debuginfo = find_no_debug,
        .section_address = dwfl_offline_section_address,
    };
    Dwfl *dwfl = dwfl_begin(&callbacks);
    if (!dwfl)
        return;
    int fd = dup(binary->fd); /* which libdwfl closes */
    Dwfl_Module *module = fd < 0 ? NULL : dwfl_report_offline(dwfl, "", "", fd);
    if (fd >= 0 && !module)
        close(fd);
    GElf_Addr bias = 0;
    if (module && dwfl_module_getelf(module, &bias)) {
        int count = dwfl_module_getsymtab(module);
        for (int i = 1; i < count; i++) {
            GElf_Sym symbol;
            GElf_Addr addr;
            Elf *elf;
            Dwarf_Addr symbol_bias;
            const char *name = dwfl_module_getsym_info(module, i, &symbol, &addr, NULL, &elf, &symbol_bias);
            unsigned type = GELF_ST_TYPE(symbol.st_info);
            if (name && *name && symbol.st_shndx != SHN_UNDEF && (type == STT_FUNC || type == STT_GNU_IFUNC))
                table_add(functions, (struct table_entry){.start = addr - bias,
                                                          .size = symbol.st_size,
                                                          .name = strtab_intern(names, name),
                                                          .rank = rank_of(name, symbol.st_info)});
        }
    }
    dwfl_end(dwfl);
}
