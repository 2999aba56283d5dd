#include "symbols/runtime/go_table.h"

#include "base/bisect.h"

#include <string.h>

#define GO_1_18 0xfffffff0u
#define GO_1_20 0xfffffff1u

enum {
    HEAD_BYTES = 8 + 8 * 8,
    ENTRY_BYTES = 8, /* of the list of functions: where it begins, where its record is */
    RECORD_BYTES = 36,
    NAME_AT = 4, /* in a record */
    FILES_AT = 20,
    LINES_AT = 24,
    UNIT_AT = 32,
};

static uint64_t word_at(const struct go_table *table, size_t at, unsigned bytes)
{
    uint64_t value = 0;
    if (at <= table->size && bytes <= table->size - at)
        memcpy(&value, table->bytes + at, bytes);
    return value;
}

void go_table_open(struct go_table *table, const struct binary *binary)
{
    static const char *const sections[] = {".gopclntab", ".data.rel.ro.gopclntab"};
    GElf_Shdr header, text;
    Elf_Data *data = NULL;
    table->opened = true;
    for (unsigned i = 0; i < 2 && !data; i++)
        data = binary_section_data(binary, sections[i], &header);
    if (!data || !data->d_buf || data->d_size < HEAD_BYTES)
        return;
    struct go_table found = {.opened = true, .bytes = data->d_buf, .size = data->d_size};
    uint64_t magic = word_at(&found, 0, 4);
    if ((magic != GO_1_18 && magic != GO_1_20) || found.bytes[7] != 8)
        return;
    found.quantum = found.bytes[6];
    found.count = word_at(&found, 8, 8);
    found.text = word_at(&found, 24, 8);
    found.names = word_at(&found, 32, 8);
    found.units = word_at(&found, 40, 8);
    found.files = word_at(&found, 48, 8);
    found.values = word_at(&found, 56, 8);
    found.functions = word_at(&found, 64, 8);
    /* Where code is placed when it is loaded, the file has 0 and a relocation. */
    if (found.text == 0 && binary_section(binary, ".text", &text))
        found.text = text.sh_addr;
    if (found.functions > found.size || found.count >= (found.size - found.functions) / ENTRY_BYTES)
        return;
    *table = found;
}

static const char *text_at(const struct go_table *table, size_t base, uint64_t offset)
{
    if (base > table->size || offset >= table->size - base)
        return "";
    const uint8_t *text = table->bytes + base + offset;
    return memchr(text, 0, table->size - base - offset) ? (const char *)text : "";
}

static uint64_t varint(const struct go_table *table, size_t *at)
{
    uint64_t value = 0;
    for (unsigned shift = 0; *at < table->size && shift < 35; shift += 7) {
        uint8_t byte = table->bytes[(*at)++];
        value |= (uint64_t)(byte & 127) << shift;
        if (byte < 128)
            break;
    }
    return value;
}

/* The value that holds at `offset` of a function, from pairs of differences: of the value, and of the address it holds up to. -1: none. */
static int64_t value_at(const struct go_table *table, uint64_t values, uint64_t offset)
{
    int64_t value = -1;
    uint64_t reached = 0;
    size_t at = table->values + values;
    if (values == 0 || table->values > table->size || values >= table->size - table->values)
        return -1;
    for (bool first = true; at < table->size; first = false) {
        uint64_t difference = varint(table, &at);
        if (difference == 0 && !first)
            return -1;
        value += difference & 1 ? -(int64_t)(difference >> 1) - 1 : (int64_t)(difference >> 1);
        uint64_t step = varint(table, &at) * table->quantum;
        if (step == 0 || value > INT32_MAX || value < INT32_MIN)
            return -1; /* no table of Go's: each pair is of some code, each value of 32 bits */
        reached += step;
        if (offset < reached)
            return value;
    }
    return -1;
}

bool go_table_frame(const struct go_table *table, uint64_t addr, struct symbol_frame *frame)
{
    if (!table->bytes || addr < table->text || addr - table->text > UINT32_MAX)
        return false;
    uint64_t offset = addr - table->text;
    size_t at = bisect(table->count + 1, i, word_at(table, table->functions + i * ENTRY_BYTES, 4) <= offset);
    if (at == 0 || at > table->count)
        return false;
    uint64_t entry = word_at(table, table->functions + (at - 1) * ENTRY_BYTES, 4);
    size_t record = table->functions + word_at(table, table->functions + (at - 1) * ENTRY_BYTES + 4, 4);
    if (record > table->size || table->size - record < RECORD_BYTES)
        return false;
    const char *name = text_at(table, table->names, word_at(table, record + NAME_AT, 4));
    if (!*name)
        return false;
    *frame = (struct symbol_frame){.function = name, .file = "", .offset = offset - entry};
    int64_t line = value_at(table, word_at(table, record + LINES_AT, 4), offset - entry);
    int64_t file = value_at(table, word_at(table, record + FILES_AT, 4), offset - entry);
    uint64_t unit = word_at(table, record + UNIT_AT, 4);
    int64_t own = value_at(table, word_at(table, record + FILES_AT, 4), 0);
    if (own >= 0 && unit != UINT32_MAX) {
        uint64_t place = word_at(table, table->units + (unit + (uint64_t)own) * 4, 4);
        frame->file = place == UINT32_MAX ? "" : text_at(table, table->files, place);
        /* A line of another file is of a function that was inlined here. */
        frame->line = file == own && line > 0 && line < INT32_MAX ? (uint32_t)line : 0;
    }
    return true;
}
