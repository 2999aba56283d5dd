/* fuzz_elf.c - any bytes as a program of the target: every question that reports ask of one, at addresses that the file has. */
#include "symbols/symbols.h"
#include "symbols/types.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PLACES = 6, FRAMES = 8 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void ask(struct symbols_module *module, uint64_t addr, size_t *length)
{
    struct symbol_frame frames[FRAMES];
    struct symbol_object object;
    struct symbol_section section;
    size_t count = symbols_frames(module, addr, frames, FRAMES);
    if (count > FRAMES)
        abort();
    for (size_t i = 0; i < count; i++)
        *length += strlen(frames[i].function) + strlen(frames[i].file);
    *length += strlen(symbols_function(module, addr).function);
    if (symbols_object(module, addr, &object))
        *length += strlen(object.name) + strlen(object.file);
    if (symbols_thread_local(module, addr, &object))
        *length += strlen(object.name) + strlen(object.file);
    if (symbols_section(module, addr, &section))
        *length += strlen(section.name);
    uint64_t there;
    symbols_address_of_offset(module, addr, &there);
}

static void read_type(const struct symbol_type *type, size_t *length)
{
    if (!type)
        return;
    if (type->size == 0)
        abort();
    *length += strlen(type->name) + strlen(type->keyword) + strlen(type->file);
    for (size_t i = 0; i < type->field_count; i++) {
        const struct symbol_field *field = &type->fields[i];
        if (field->inside >= type->field_count - i)
            abort();
        *length += strlen(field->before) + strlen(field->name) + strlen(field->after);
    }
}

/* What reports ask about types: by names that the seeds have, which their copies keep. */
static void ask_types(struct symbols_module *module, uint64_t addr, size_t *length)
{
    static const char *const expressions[] = {"held", "made", "this->cells[i].kind", "*held->next", "all", "sim::all"};
    static const char *const names[] = {"struct point", "sim::Grid<double>", "Cell", "span", "double"};
    struct symbol_variable variable;
    for (size_t level = 0; level < 2; level++) {
        for (size_t i = 0; i < sizeof expressions / sizeof *expressions; i++) {
            if (symbols_variable(module, addr, level, expressions[i], &variable))
                *length += strlen(variable.name) + strlen(variable.owner) + strlen(variable.type);
            read_type(symbols_expression_type(module, addr, level, expressions[i]), length);
        }
        if (symbols_variable_of_type(module, addr, level, "sim::Grid<double>", &variable))
            *length += strlen(variable.name);
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        read_type(symbols_named_type(module, addr, names[i]), length);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int fd = -1;
    char path[32];
    size_t length = 0;
    if (fd < 0)
        fd = memfd_create("program", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, 0) != 0 || pwrite(fd, data, size, 0) != (ssize_t)size)
        abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    struct symbols *symbols = symbols_new();
    struct symbols_module *module = symbols_module(symbols, path, NULL, 0);
    symbols_module_trouble(module);
    symbols_module_missing(module);
    uint64_t low = 0, high = 0;
    if (!symbols_extent(module, &low, &high))
        high = low + 0x1000;
    for (unsigned i = 0; i < PLACES; i++)
        ask(module, low + (high - low < 0x1000 ? high - low : 0x1000) / PLACES * i, &length);
    ask(module, high - 1, &length);
    for (unsigned i = 0; i < PLACES; i += 2)
        ask_types(module, low + (high - low < 0x1000 ? high - low : 0x1000) / PLACES * i, &length);
    read_type(symbols_variable_type(module, "all", 6), &length);
    read_type(symbols_variable_type(module, "made", 8), &length);
    if (length == SIZE_MAX)
        abort();
    symbols_free(symbols);
    return 0;
}
