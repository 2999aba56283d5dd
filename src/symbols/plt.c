/* symbols/plt.c - names for the procedure linkage table, read out of its instructions.
 *
 * Each stub jumps through a slot of the global offset table, and a relocation says which symbol the slot is for. The
 * stubs' layout differs by linker, by hardening (IBT, BTI) and by section; the jump's operand does not. */
#include "symbols/symtab.h"

#include "base/map64.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

/* From a slot's address to the symbol's name (a pointer). */
static void read_slots(const struct binary *binary, struct map64 *slots)
{
    Elf_Scn *section = NULL;
    while ((section = elf_nextscn(binary->elf, section))) {
        GElf_Shdr header, symbols_header;
        if (!gelf_getshdr(section, &header) || header.sh_type != SHT_RELA || !(header.sh_flags & SHF_ALLOC) ||
            header.sh_entsize == 0)
            continue;
        Elf_Scn *symbols = elf_getscn(binary->elf, header.sh_link);
        if (!symbols || !gelf_getshdr(symbols, &symbols_header) || symbols_header.sh_type != SHT_DYNSYM)
            continue;
        Elf_Data *relocations = elf_getdata(section, NULL), *symbol_data = elf_getdata(symbols, NULL);
        size_t count = relocations && symbol_data ? relocations->d_size / header.sh_entsize : 0;
        for (size_t i = 0; i < count && i < INT32_MAX; i++) {
            GElf_Rela relocation;
            GElf_Sym symbol;
            if (!gelf_getrela(relocations, (int)i, &relocation))
                break;
            uint64_t index = GELF_R_SYM(relocation.r_info);
            if (index == 0 || index > INT32_MAX || relocation.r_offset == MAP64_EMPTY ||
                !gelf_getsym(symbol_data, (int)index, &symbol))
                continue;
            const char *name = elf_strptr(binary->elf, symbols_header.sh_link, symbol.st_name);
            if (name && *name)
                *map64_insert(slots, relocation.r_offset, NULL) = (uint64_t)(uintptr_t)name;
        }
    }
}

static void add_stub(const struct map64 *slots, uint64_t slot, uint64_t start, uint64_t size, struct table *functions,
                     struct strtab *names)
{
    const uint64_t *found = slot == MAP64_EMPTY ? NULL : map64_find(slots, slot);
    if (!found)
        return;
    const char *name = (const char *)(uintptr_t)*found;
    char *text = mem_format("%.*s@plt", (int)strcspn(name, "@"), name);
    table_add(functions, (struct table_entry){.start = start, .size = size, .name = strtab_intern(names, text)});
    free(text);
}

/* jmp *disp32(%rip), whatever stands around it. */
static void scan_x86(const struct map64 *slots, const uint8_t *code, const GElf_Shdr *header, size_t size,
                     struct table *functions, struct strtab *names)
{
    uint64_t stub = header->sh_entsize >= 8 && header->sh_entsize <= 64 ? header->sh_entsize : 16;
    for (size_t at = 0; at + 6 <= size; at++) {
        if (code[at] != 0xff || code[at + 1] != 0x25)
            continue;
        int32_t displacement;
        memcpy(&displacement, code + at + 2, 4);
        add_stub(slots, header->sh_addr + at + 6 + (uint64_t)(int64_t)displacement, header->sh_addr + at - at % stub,
                 stub, functions, names);
        at += 5;
    }
}

/* [bti c;] adrp x16, page; ldr x17, [x16, offset]; add x16, x16, offset; [autia1716;] br x17. */
static void scan_aarch64(const struct map64 *slots, const uint8_t *code, const GElf_Shdr *header, size_t size,
                         struct table *functions, struct strtab *names)
{
    enum { BTI_C = 0xd503245fu, BR_X17 = 0xd61f0220u };
    uint32_t before = 0, word, next;
    for (size_t at = 0; at + 8 <= size; at += 4, before = word) {
        memcpy(&word, code + at, 4);
        memcpy(&next, code + at + 4, 4);
        if ((word & 0x9f00001fu) != 0x90000010u || (next & 0xffc003ffu) != 0xf9400211u)
            continue;
        uint64_t immediate = (uint64_t)(word >> 5 & 0x7ffff) << 2 | (word >> 29 & 3);
        uint64_t page = (uint64_t)((int64_t)(immediate << 43) >> 31); /* 21 bits, signed, in pages */
        uint64_t slot = ((header->sh_addr + at) & ~(uint64_t)0xfff) + page + (uint64_t)(next >> 10 & 0xfff) * 8;
        size_t start = before == (uint32_t)BTI_C ? at - 4 : at, end = at + 8;
        for (uint32_t last = 0; end + 4 <= size && end < start + 32 && last != (uint32_t)BR_X17; end += 4)
            memcpy(&last, code + end, 4);
        add_stub(slots, slot, header->sh_addr + start, end - start, functions, names);
    }
}

void symtab_read_plt(const struct binary *binary, struct table *functions, struct strtab *names)
{
    GElf_Ehdr ehdr;
    if (!gelf_getehdr(binary->elf, &ehdr) || (ehdr.e_machine != EM_X86_64 && ehdr.e_machine != EM_AARCH64))
        return;
    struct map64 slots = {0};
    read_slots(binary, &slots);
    static const char *const sections[] = {".plt", ".plt.sec", ".plt.got"};
    for (size_t i = 0; slots.count > 0 && i < sizeof sections / sizeof *sections; i++) {
        GElf_Shdr header;
        Elf_Data *data = binary_section_data(binary, sections[i], &header);
        if (data && ehdr.e_machine == EM_X86_64)
            scan_x86(&slots, data->d_buf, &header, data->d_size, functions, names);
        else if (data)
            scan_aarch64(&slots, data->d_buf, &header, data->d_size, functions, names);
    }
    map64_free(&slots);
}
