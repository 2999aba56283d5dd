#include "base/strtab.h"

#include "base/array.h"

#include <string.h>

enum { PAGE_BYTES = 64 * 1024 };

struct strtab {
    array_of(const char *) texts;
    array_of(uint32_t) lengths;
    array_of(char *) pages; /* where the texts are: never moved */
    size_t page_used, page_size;
    uint32_t *slots; /* open addressing; number + 1, or 0 */
    size_t slot_count;
};

static uint64_t hash_bytes(const char *bytes, size_t length)
{
    uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a */
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)bytes[i]) * 0x100000001b3u;
    return hash ^ hash >> 29;
}

struct strtab *strtab_new(void)
{
    struct strtab *table = mem_zalloc(sizeof *table);
    strtab_add(table, "");
    return table;
}

void strtab_free(struct strtab *table)
{
    if (!table)
        return;
    array_each (&table->pages, char *, page)
        free(*page);
    array_free(&table->pages);
    array_free(&table->texts);
    array_free(&table->lengths);
    free(table->slots);
    free(table);
}

static size_t slot_of(const struct strtab *table, const char *bytes, size_t length)
{
    size_t mask = table->slot_count - 1;
    size_t slot = hash_bytes(bytes, length) & mask;
    for (; table->slots[slot]; slot = (slot + 1) & mask) {
        uint32_t id = table->slots[slot] - 1;
        if (table->lengths.items[id] == length && memcmp(table->texts.items[id], bytes, length) == 0)
            break;
    }
    return slot;
}

static void grow(struct strtab *table)
{
    free(table->slots);
    table->slot_count = table->slot_count ? table->slot_count * 2 : 256;
    table->slots = mem_zalloc(table->slot_count * sizeof *table->slots);
    for (uint32_t id = 0; id < table->texts.count; id++)
        table->slots[slot_of(table, table->texts.items[id], table->lengths.items[id])] = id + 1;
}

static char *place(struct strtab *table, size_t size)
{
    if (table->page_size - table->page_used < size) {
        table->page_size = size > PAGE_BYTES ? size : PAGE_BYTES;
        table->page_used = 0;
        array_push(&table->pages, (char *)mem_alloc(table->page_size));
    }
    char *text = table->pages.items[table->pages.count - 1] + table->page_used;
    table->page_used += size;
    return text;
}

uint32_t strtab_add_bytes(struct strtab *table, const char *bytes, size_t length)
{
    if ((table->texts.count + 1) * 2 > table->slot_count)
        grow(table);
    size_t slot = slot_of(table, bytes, length);
    if (table->slots[slot])
        return table->slots[slot] - 1;
    char *text = place(table, length + 1);
    memcpy(text, bytes, length);
    text[length] = '\0';
    array_push(&table->texts, text);
    array_push(&table->lengths, (uint32_t)length);
    table->slots[slot] = (uint32_t)table->texts.count;
    return (uint32_t)table->texts.count - 1;
}

uint32_t strtab_add(struct strtab *table, const char *text)
{
    return strtab_add_bytes(table, text, strlen(text));
}

const char *strtab_text(const struct strtab *table, uint32_t id)
{
    return id < table->texts.count ? table->texts.items[id] : "";
}

const char *strtab_intern(struct strtab *table, const char *text)
{
    return strtab_text(table, strtab_add(table, text));
}

size_t strtab_count(const struct strtab *table)
{
    return table->texts.count;
}
