#include "symbols/name_table.h"

#include "base/array.h"
#include "base/bisect.h"
#include "base/order.h"

#include <string.h>

void table_add(struct table *table, struct table_entry entry)
{
    if (entry.size == 0 || entry.start + entry.size < entry.start)
        return;
    array_push(table, entry);
}

ORDER_BY(by_start_then_rank, struct table_entry, ORDER(a->start, b->start)
    ?: ORDER(a->rank, b->rank)
    ?: strcmp(a->name, b->name))

void table_finish(struct table *table)
{
    if (table->count == 0)
        return;
    qsort(table->items, table->count, sizeof *table->items, by_start_then_rank);
    size_t kept = 0;
    uint64_t covered = 0; /* up to here by entries whose size is known: labels inside them are no entries */
    for (size_t i = 0; i < table->count; i++) {
        const struct table_entry *entry = &table->items[i];
        if ((kept > 0 && entry->start == table->items[kept - 1].start) || (entry->open_size && entry->start < covered))
            continue;
        if (!entry->open_size && entry->start + entry->size > covered)
            covered = entry->start + entry->size;
        table->items[kept++] = *entry;
    }
    table->count = kept;
    for (size_t i = 0; i + 1 < kept; i++) {
        struct table_entry *entry = &table->items[i];
        uint64_t room = table->items[i + 1].start - entry->start;
        if (entry->open_size && entry->size > room)
            entry->size = room;
    }
}

const struct table_entry *table_find(const struct table *table, uint64_t addr)
{
    size_t low = bisect(table->count, i, table->items[i].start <= addr);
    /* Ranges rarely nest, and then a few deep: symbols inside another are skipped. */
    enum { NESTING = 64 };
    for (size_t i = low, steps = 0; i > 0 && steps < NESTING; i--, steps++)
        if (addr - table->items[i - 1].start < table->items[i - 1].size)
            return &table->items[i - 1];
    return NULL;
}

void table_free(struct table *table)
{
    array_free(table);
}
