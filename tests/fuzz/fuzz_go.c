/* fuzz_go.c - any bytes as the table of a Go program's functions (.gopclntab), asked at addresses that it has and at others. */
#include "symbols/runtime/go_table.h"

#include <stdlib.h>
#include <string.h>

enum { PLACES = 24 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
Elf_Data *__wrap_binary_section_data(const struct binary *binary, const char *name, GElf_Shdr *header);
Elf_Scn *__wrap_binary_section(const struct binary *binary, const char *name, GElf_Shdr *header);

static Elf_Data section;

Elf_Data *__wrap_binary_section_data(const struct binary *binary, const char *name, GElf_Shdr *header)
{
    (void)binary;
    (void)header;
    return strcmp(name, ".gopclntab") == 0 ? &section : NULL;
}

Elf_Scn *__wrap_binary_section(const struct binary *binary, const char *name, GElf_Shdr *header)
{
    (void)binary;
    (void)name;
    header->sh_addr = 0x401000;
    return (Elf_Scn *)header;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct go_table table = {0};
    struct symbol_frame frame;
    uint8_t *copy = malloc(size + !size);
    if (size)
        memcpy(copy, data, size);
    section = (Elf_Data){.d_buf = copy, .d_size = size};
    go_table_open(&table, NULL);
    for (uint64_t i = 0; i < PLACES; i++) {
        uint64_t entry = 0;
        if (table.bytes && i < table.count)
            memcpy(&entry, table.bytes + table.functions + i * 8, 4);
        for (uint64_t behind = 0; behind < 64; behind += 21) {
            if (!go_table_frame(&table, table.text + entry + behind, &frame))
                continue;
            const char *low = (const char *)copy, *high = low + size;
            if (!*frame.function || frame.function < low || frame.function + strlen(frame.function) >= high ||
                (*frame.file && (frame.file < low || frame.file + strlen(frame.file) >= high)))
                abort();
        }
    }
    free(copy);
    return 0;
}
