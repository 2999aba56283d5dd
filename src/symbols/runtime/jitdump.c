/* symbols/runtime/jitdump.c - perf's jitdump (tools/perf/Documentation/jitdump-specification.txt in Linux): code that was made, and its source
 * lines. No runtime at hand writes of moved code: it is made again. */
#include "symbols/runtime/runtime_code.h"

#include <stdlib.h>
#include <string.h>

enum {
    HEADER_BYTES = 40,
    RECORD_BYTES = 16,
    LOAD_BYTES = 56,  /* of a JIT_CODE_LOAD up to its name */
    DEBUG_BYTES = 32, /* of a JIT_CODE_DEBUG_INFO up to its entries */
    ENTRY_BYTES = 16, /* of one up to its file */
    CODE_LOAD = 0,
    CODE_DEBUG_INFO = 2,
    LINES_MOST = 20000, /* of one function */
    V8_LINES_SHIFT = 0x40,
    FLAG_PROCESSOR_TIME = 1,
};
#define JITDUMP_MAGIC 0x4A695444u

static uint32_t word(const uint8_t *at)
{
    uint32_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

static uint64_t long_word(const uint8_t *at)
{
    uint64_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

/* The text up to its NUL, cut; how many bytes it takes up, or 0 when it has no end. */
static size_t copy_text(char text[static RUNTIME_NAME_MOST], const uint8_t *from, size_t size)
{
    size_t length = strnlen((const char *)from, size),
           kept = length < RUNTIME_NAME_MOST ? length : RUNTIME_NAME_MOST - 1;
    if (length == size)
        return 0;
    for (size_t i = 0; i < kept; i++)
        text[i] = from[i] < ' ' || from[i] == 127 ? '?' : (char)from[i];
    text[kept] = '\0';
    return length + 1;
}

static void forget_lines(struct jitdump *dump)
{
    free(dump->lines);
    dump->lines = NULL;
    dump->line_count = 0;
}

/* Comes before the function that it is of. "\xff" as a file: the one before again. */
static void take_lines(struct jitdump *dump, const uint8_t *record, size_t size)
{
    forget_lines(dump);
    uint64_t count = long_word(record + 24);
    if (count == 0 || count > LINES_MOST || count > (size - DEBUG_BYTES) / ENTRY_BYTES)
        return;
    dump->lines = calloc(count, sizeof *dump->lines);
    dump->lines_of = long_word(record + 16);
    size_t at = DEBUG_BYTES;
    for (uint64_t i = 0; dump->lines && i < count && size - at > ENTRY_BYTES; i++) {
        struct jitdump_line *line = &dump->lines[dump->line_count];
        line->addr = long_word(record + at);
        line->line = word(record + at + 8);
        bool again = record[at + ENTRY_BYTES] == 0xff;
        size_t used = copy_text(line->file, record + at + ENTRY_BYTES, size - at - ENTRY_BYTES);
        if (used == 0)
            return;
        if (again)
            memcpy(line->file, dump->line_count ? line[-1].file : "", dump->line_count ? sizeof line->file : 1);
        else if (strncmp(line->file, "file://", 7) == 0)
            memmove(line->file, line->file + 7, strlen(line->file + 7) + 1);
        at += ENTRY_BYTES + used;
        dump->line_count++;
    }
}

/* V8 writes freed memory for a script's name now and then: what a function's own name says of its file counts more. */
static bool file_is_believed(const struct runtime_name *whole, const struct jitdump_line *line)
{
    return *whole->file == '\0' || *line->file == '\0' || strcmp(whole->file, line->file) == 0;
}

/* Each stretch of a function between two of its lines has a name of its own: the function's, with that line. */
static void take_code(struct jitdump *dump, const struct runtime_name *whole, runtime_visit visit, void *context)
{
    visit(context, whole);
    if (dump->lines_of == whole->addr) {
        for (size_t i = 0; i < dump->line_count; i++) {
            const struct jitdump_line *line = &dump->lines[i];
            uint64_t end = i + 1 < dump->line_count ? line[1].addr : whole->addr + whole->size;
            if (line->addr < whole->addr || end > whole->addr + whole->size || end <= line->addr ||
                !file_is_believed(whole, line))
                continue;
            struct runtime_name part = *whole;
            part.addr = line->addr;
            part.size = end - line->addr;
            part.line = line->line;
            part.file = *line->file ? line->file : whole->file;
            visit(context, &part);
        }
    }
    forget_lines(dump);
}

static void take_load(struct jitdump *dump, const uint8_t *record, size_t size, runtime_visit visit, void *context)
{
    char text[RUNTIME_NAME_MOST];
    struct runtime_name name = {.addr = long_word(record + 32),
                                .size = long_word(record + 40),
                                .time = dump->processor_ns ? 0 : long_word(record + 8),
                                .name = text,
                                .file = ""};
    if (copy_text(text, record + LOAD_BYTES, size - LOAD_BYTES) == 0 || name.size == 0 ||
        name.size > RUNTIME_CODE_MOST || name.addr + name.size < name.addr)
        return;
    /* Its lines are as far behind as perf puts code into a file of its own. */
    uint64_t shift = runtime_name_split(text, &name) ? V8_LINES_SHIFT : 0;
    for (size_t i = 0; i < dump->line_count; i++)
        dump->lines[i].addr -= shift;
    take_code(dump, &name, visit, context);
}

static size_t header_read(struct jitdump *dump, const uint8_t *bytes, size_t size)
{
    if (size < HEADER_BYTES)
        return 0;
    uint32_t length = word(bytes + 8);
    dump->begun = true;
    dump->refused = word(bytes) != JITDUMP_MAGIC || length < HEADER_BYTES;
    dump->processor_ns = long_word(bytes + 32) & FLAG_PROCESSOR_TIME;
    if (!dump->refused && length > size) {
        dump->begun = false;
        return 0;
    }
    return length;
}

size_t jitdump_read(struct jitdump *dump, const uint8_t *bytes, size_t size, runtime_visit visit, void *context)
{
    size_t at = dump->begun ? 0 : header_read(dump, bytes, size);
    if (dump->refused)
        return size;
    while (dump->begun && size - at >= RECORD_BYTES) {
        const uint8_t *record = bytes + at;
        uint32_t kind = word(record), length = word(record + 4);
        if (length < RECORD_BYTES) {
            dump->refused = true;
            return size;
        }
        if (length > size - at)
            break;
        if (kind == CODE_LOAD && length > LOAD_BYTES)
            take_load(dump, record, length, visit, context);
        else if (kind == CODE_DEBUG_INFO && length > DEBUG_BYTES)
            take_lines(dump, record, length);
        at += length;
    }
    return at;
}

void jitdump_free(struct jitdump *dump)
{
    forget_lines(dump);
}
