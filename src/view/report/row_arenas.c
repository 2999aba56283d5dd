/* view/report/row_arenas.c - which sites the blocks in an allocator's memory come from.
 *
 * [heap] and [arena] are what is left of malloc's memory between blocks. A sample there is of a block that was freed, or of
 * malloc's own data; who causes it are the sites whose blocks were next to it then. */
#include "base/order.h"
#include "base/strtab.h"
#include "view/report/rows.h"

#include <stdio.h>
#include <string.h>

enum { SITES_NAMED = 3 };

struct part { /* of the samples in a row's arenas, those next to blocks of one site */
    uint32_t row, site;
    uint64_t samples;
};

ORDER_BY(by_samples, struct part, ORDER(a->row, b->row) ?: ORDER(b->samples, a->samples) ?: ORDER(a->site, b->site))

static void name_row(struct rows *rows, struct row *row, const struct part *parts, size_t count)
{
    char text[400];
    size_t used = 0, named = 0;
    for (; named < count && named < SITES_NAMED; named++) {
        int more = snprintf(text + used, sizeof text - used, "%s%.100s", named ? ", " : "",
                            flow_site(rows->flow, parts[named].site)->label);
        if (more < 0 || (size_t)more >= sizeof text - used)
            break;
        used += (size_t)more;
    }
    if (count > named && used + 40 < sizeof text)
        snprintf(text + used, sizeof text - used, ", %zu more site%s", count - named, count - named == 1 ? "" : "s");
    row->blocks_of = strtab_intern(rows->arena_texts, text);
}

void rows_arenas(struct rows *rows)
{
    const struct flow_arena_site *known;
    size_t count = flow_arena_sites(rows->flow, &known);
    array_of(struct part) parts = {0};
    struct map64 part_of = {0};
    for (size_t i = 0; i < count; i++) {
        uint32_t row = rows->row_of[known[i].object];
        if (row == FLOW_NONE)
            continue;
        bool is_new;
        uint64_t *place = map64_insert(&part_of, (uint64_t)row << 32 | known[i].site, &is_new);
        if (is_new) {
            *place = parts.count;
            array_push(&parts, (struct part){.row = row, .site = known[i].site});
        }
        parts.items[*place].samples += known[i].samples;
    }
    array_sort(&parts, by_samples);
    rows->arena_texts = strtab_new();
    for (size_t i = 0, next; i < parts.count; i = next) {
        for (next = i + 1; next < parts.count && parts.items[next].row == parts.items[i].row;)
            next++;
        name_row(rows, &rows->items.items[parts.items[i].row], &parts.items[i], next - i);
    }
    map64_free(&part_of);
    array_free(&parts);
}
