#include "symbols/search.h"

#include "symbols/binary.h"
#include "symbols/demangle.h"
#include "symbols/symtab.h"

#include <elfutils/libdw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct searched {
    struct binary *binary, *debug; /* debug: may be NULL */
};

static bool open_searched(struct searched *searched, const char *path)
{
    char *why = NULL;
    searched->binary = binary_open(path, &why);
    free(why);
    searched->debug = searched->binary ? binary_find_debug(searched->binary, path, searched->binary->build_id,
                                                           searched->binary->build_id_size, NULL, 0)
                                       : NULL;
    return searched->binary;
}

static void close_searched(struct searched *searched)
{
    binary_close(searched->debug);
    binary_close(searched->binary);
}

/* "f" is "f(int)" too, but not "f<int>(int)". */
static bool is_named(const char *symbol, const char *name)
{
    if (strcmp(symbol, name) == 0)
        return true;
    char *plain = demangle(symbol);
    size_t length = strlen(name);
    bool same = plain && strncmp(plain, name, length) == 0 && (plain[length] == '\0' || plain[length] == '(');
    free(plain);
    return same;
}

static void search_table(const struct table *table, const char *name, search_found *found, void *context)
{
    for (size_t i = 0; i < table->count; i++) {
        const struct table_entry *entry = &table->items[i];
        if (entry->size && is_named(entry->name, name))
            found(context, entry->start, entry->start + entry->size);
    }
}

static bool search_symbols(const char *path, const char *name, bool functions, search_found *found, void *context)
{
    struct searched searched;
    if (!open_searched(&searched, path))
        return false;
    struct symtab symtab = {0};
    if (!symtab_read(searched.binary, &symtab) && searched.debug)
        symtab_read(searched.debug, &symtab);
    table_finish(&symtab.functions);
    table_finish(&symtab.objects);
    search_table(functions ? &symtab.functions : &symtab.objects, name, found, context);
    table_free(&symtab.functions);
    table_free(&symtab.objects);
    table_free(&symtab.thread_locals);
    close_searched(&searched);
    return true;
}

bool search_function(const char *path, const char *name, search_found *found, void *context)
{
    return search_symbols(path, name, true, found, context);
}

bool search_object(const char *path, const char *name, search_found *found, void *context)
{
    return search_symbols(path, name, false, found, context);
}

static bool ends_with(const char *path, const char *file)
{
    size_t length = strlen(path), tail = strlen(file);
    return length >= tail && strcmp(path + length - tail, file) == 0 &&
           (length == tail || path[length - tail - 1] == '/');
}

static void search_unit(Dwarf_Die *unit, const char *file, uint32_t line, search_found *found, void *context)
{
    Dwarf_Lines *lines;
    size_t count;
    if (dwarf_getsrclines(unit, &lines, &count) != 0)
        return;
    for (size_t i = 0; i + 1 < count; i++) {
        Dwarf_Line *row = dwarf_onesrcline(lines, i);
        int number;
        Dwarf_Addr low, high;
        bool ends;
        const char *source =
            dwarf_lineno(row, &number) == 0 && (uint32_t)number == line ? dwarf_linesrc(row, NULL, NULL) : NULL;
        if (source && ends_with(source, file) && dwarf_lineendsequence(row, &ends) == 0 && !ends &&
            dwarf_lineaddr(row, &low) == 0 && dwarf_lineaddr(dwarf_onesrcline(lines, i + 1), &high) == 0 && high > low)
            found(context, low, high);
    }
}

bool search_line(const char *path, const char *file, uint32_t line, search_found *found, void *context)
{
    struct searched searched;
    if (!open_searched(&searched, path))
        return false;
    const struct binary *holder = binary_has_dwarf(searched.binary) ? searched.binary : searched.debug;
    Dwarf *dwarf = holder ? dwarf_begin_elf(holder->elf, DWARF_C_READ, NULL) : NULL;
    Dwarf_CU *unit = NULL;
    Dwarf_Die die;
    while (dwarf && dwarf_get_units(dwarf, unit, &unit, NULL, NULL, &die, NULL) == 0)
        search_unit(&die, file, line, found, context);
    dwarf_end(dwarf);
    close_searched(&searched);
    return true;
}

bool search_build_id(const char *path, char text[SEARCH_BUILD_ID])
{
    char *why = NULL;
    struct binary *binary = binary_open(path, &why);
    free(why);
    text[0] = '\0';
    for (size_t i = 0; binary && i < binary->build_id_size; i++)
        snprintf(text + 2 * i, 3, "%02x", binary->build_id[i]);
    bool opened = binary;
    binary_close(binary);
    return opened;
}

bool search_address_of_offset(const char *path, uint64_t offset, uint64_t *addr)
{
    char *why = NULL;
    struct binary *binary = binary_open(path, &why);
    bool found = binary && binary_address_of_offset(binary, offset, addr);
    free(why);
    binary_close(binary);
    return found;
}
