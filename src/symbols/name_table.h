/* symbols/name_table.h - address ranges with names, sorted once, then searched. Names are as the file has them (mangled) and
 * belong to whoever filled the table. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct table_entry {
    uint64_t start, size;
    const char *name;
    uint32_t rank;      /* of several at one address the lowest stays */
    uint32_t open_size; /* the size is a guess that the next entry cuts short */
};

struct table { /* zeroed = empty */
    struct table_entry *items;
    size_t count, capacity;
};

void table_add(struct table *table, struct table_entry entry);

/* Sorts, leaves one entry per address, bounds the open ones and drops those inside others. */
void table_finish(struct table *table);

/* The innermost entry that covers `addr`, or NULL. */
const struct table_entry *table_find(const struct table *table, uint64_t addr);

void table_free(struct table *table);
