/* symbols/runtime/go_table.h - functions and lines of a Go program by the table that its runtime needs itself (.gopclntab), which strip leaves
 * there: of Go 1.18 and later. Nothing of it is trusted: every offset is checked. */
#pragma once

#include "symbols/binary.h"
#include "symbols/symbols.h"

struct go_table { /* zeroed = not looked for yet */
    bool opened;
    const uint8_t *bytes; /* NULL: there is none. They belong to the binary, which must stay open */
    size_t size;
    uint64_t text, count; /* address that entries begin at; how many there are */
    size_t names, units, files, values, functions;
    uint8_t quantum; /* of addresses */
};

void go_table_open(struct go_table *table, const struct binary *binary);

/* The function at `addr` with its line; false when the table does not know it. Texts point into the table. */
bool go_table_frame(const struct go_table *table, uint64_t addr, struct symbol_frame *frame);
