/* tests/fuzz/linear_files.h - files that are not traces, as large as wanted, with much of what a reader has to search. */
#pragma once

#include "../perf/bytes.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PERF_ATTR = 64, PERF_AUXTRACE = 71, PERF_EVENT_ID = 7 };
#define PERF_SAMPLES_HAVE                                                                                              \
    (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR |                 \
     PERF_SAMPLE_CPU | PERF_SAMPLE_DATA_SRC)

static inline void perf_record(FILE *out, struct bytes *record)
{
    uint16_t size = (uint16_t)record->size;
    memcpy(record->data + 6, &size, 2);
    fwrite(record->data, 1, size, out);
    record->size = 0;
}

/* An event with its number; records of others have that number and a time behind them. */
static inline void perf_attr(FILE *out, uint64_t id)
{
    struct bytes record = {0};
    put_header(&record, PERF_ATTR);
    put32(&record, 4), put32(&record, 96), put64(&record, 0x1cd), put64(&record, 1000);
    put64(&record, PERF_SAMPLES_HAVE), put64(&record, 0);
    put64(&record, 1ull << 18); /* sample_id_all */
    for (unsigned i = 0; i < 6; i++)
        put64(&record, 0);
    put64(&record, id);
    perf_record(out, &record);
}

static inline void perf_id(struct bytes *record, uint32_t pid, uint32_t tid, uint64_t time)
{
    put32(record, pid), put32(record, tid), put64(record, time), put64(record, 0), put64(record, PERF_EVENT_ID);
}

static inline void perf_text(struct bytes *record, const char *text)
{
    size_t room = strlen(text) / 8 * 8 + 8;
    memset(record->data + record->size, 0, room);
    memcpy(record->data + record->size, text, strlen(text));
    record->size += room;
}

static inline void perf_sample_of(FILE *out, uint64_t id, uint32_t pid, uint32_t tid, uint64_t time, uint64_t addr)
{
    struct bytes record = {0};
    put_header(&record, PERF_RECORD_SAMPLE);
    put64(&record, id), put64(&record, addr), put32(&record, pid), put32(&record, tid), put64(&record, time);
    put64(&record, addr), put64(&record, 0), put64(&record, 0x68100142); /* a load from memory */
    perf_record(out, &record);
}

static inline FILE *perf_begin(const char *path)
{
    FILE *out = fopen(path, "w");
    struct bytes head = {0};
    put64(&head, 0x32454c4946524550), put64(&head, 16); /* a pipe's */
    fwrite(head.data, 1, head.size, out);
    perf_attr(out, PERF_EVENT_ID);
    return out;
}

/* Processes that fork, each with a name, a mapping over all before and a sample there. */
static inline void write_perf_tasks(const char *path, unsigned n)
{
    FILE *out = perf_begin(path);
    char name[32];
    for (unsigned i = 0; i < n; i++) {
        uint32_t pid = 100 + i;
        struct bytes record = {0};
        put_header(&record, PERF_RECORD_FORK);
        put32(&record, pid), put32(&record, pid - 1), put32(&record, pid), put32(&record, pid - 1), put64(&record, i);
        perf_id(&record, pid, pid, i);
        perf_record(out, &record);
        put_header(&record, PERF_RECORD_COMM);
        put32(&record, pid), put32(&record, pid);
        snprintf(name, sizeof name, "thread %u", i);
        perf_text(&record, name);
        perf_id(&record, pid, pid, i);
        perf_record(out, &record);
        put_header(&record, PERF_RECORD_MMAP);
        put32(&record, 100 + i / 2), put32(&record, pid), put64(&record, 0x100000 + 4096ull * i);
        put64(&record, 4096ull * n), put64(&record, 0);
        snprintf(name, sizeof name, "/lib/%u.so", i);
        perf_text(&record, name);
        perf_id(&record, pid, pid, i);
        perf_record(out, &record);
        perf_sample_of(out, PERF_EVENT_ID, 100 + i / 2, pid, n - i, 0x100000 + 4096ull * i);
    }
    fclose(out);
}

/* Events, and a sample of each. */
static inline void write_perf_events(const char *path, unsigned n)
{
    FILE *out = perf_begin(path);
    for (unsigned i = 0; i < n; i++)
        perf_attr(out, 1000 + i);
    for (unsigned i = 0; i < n; i++)
        perf_sample_of(out, 1000 + i, 100, 100, i, 0x100000);
    fclose(out);
}

/* Tasks with a chunk of two pages each. */
static inline void write_moca(const char *path, unsigned n)
{
    FILE *out = fopen(path, "w");
    for (unsigned i = 0; i < n; i++) {
        fprintf(out, "T %u %u%s\n", i, 100 + i, i ? "" : " 4096");
        fprintf(out, "C %u 2 %u %u 1\n", i, i, n);
        fprintf(out, "A 0x%x 0x%x 1 1 1\nA 0x%x 0x%x 1 0 1\n", 0x100000 + 4096 * i, 0x200000 + 4096 * i,
                0x100000 + 4096 * (n - i), 0x200000);
    }
    fclose(out);
}

/* Sections, and symbols of functions and objects that contain one another. */
static inline void write_elf(const char *path, unsigned n)
{
    enum { FIRST = 3, TEXT = 0x1000 };
    size_t names = 16ull * (2 * n + 1), sections = n / 4 + FIRST;
    size_t at_symbols = sizeof(Elf64_Ehdr), at_names = at_symbols + (2 * n + 1) * sizeof(Elf64_Sym);
    size_t at_sections = (at_names + names + 7) / 8 * 8, size = at_sections + sections * sizeof(Elf64_Shdr);
    char *file = calloc(1, size), *text = file + at_names;
    Elf64_Ehdr *header = (Elf64_Ehdr *)(void *)file;
    Elf64_Sym *symbols = (Elf64_Sym *)(void *)(file + at_symbols);
    Elf64_Shdr *section = (Elf64_Shdr *)(void *)(file + at_sections);
    memcpy(header->e_ident, ELFMAG, SELFMAG);
    header->e_ident[EI_CLASS] = ELFCLASS64, header->e_ident[EI_DATA] = ELFDATA2LSB;
    header->e_ident[EI_VERSION] = EV_CURRENT;
    header->e_type = ET_DYN, header->e_machine = EM_X86_64, header->e_version = EV_CURRENT;
    header->e_ehsize = sizeof *header, header->e_shentsize = sizeof *section;
    header->e_shoff = at_sections, header->e_shnum = (Elf64_Half)sections, header->e_shstrndx = 2;
    for (unsigned i = 1; i <= 2 * n; i++) {
        snprintf(text + 16ull * i, 16, "_Z3f%uv", i);
        symbols[i] = (Elf64_Sym){.st_name = 16 * i,
                                 .st_info = ELF64_ST_INFO(STB_GLOBAL, i % 2 ? STT_FUNC : STT_OBJECT),
                                 .st_shndx = (Elf64_Half)(FIRST + i % (sections - FIRST)),
                                 .st_value = TEXT + 4ull * i,
                                 .st_size = 16ull * n};
    }
    section[1] = (Elf64_Shdr){.sh_type = SHT_SYMTAB,
                              .sh_offset = at_symbols,
                              .sh_size = (2 * n + 1) * sizeof *symbols,
                              .sh_link = 2,
                              .sh_info = 1,
                              .sh_entsize = sizeof *symbols};
    section[2] = (Elf64_Shdr){.sh_type = SHT_STRTAB, .sh_offset = at_names, .sh_size = names};
    for (size_t i = FIRST; i < sections; i++)
        section[i] = (Elf64_Shdr){.sh_type = SHT_NOBITS,
                                  .sh_flags = SHF_ALLOC | (i % 2 ? SHF_WRITE : SHF_EXECINSTR),
                                  .sh_name = 16 * (Elf64_Word)i,
                                  .sh_addr = TEXT + 4 * i,
                                  .sh_size = 16ull * n};
    FILE *out = fopen(path, "w");
    fwrite(file, 1, size, out);
    fclose(out);
    free(file);
}
