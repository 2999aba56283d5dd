/* predict/demand_near.c - whose bursts are next to each burst in an object: who uses that place, without asking the burst itself.
 *
 * Two on either side. A burst on its own would always seem to be alone with its place; its neighbours are as likely to be of
 * other threads as the place is shared. */
#include "base/order.h"
#include "predict/demand.h"

#include <stdlib.h>

enum { SIDE = DEMAND_NEAR / 2, FURTHEST = 64 /* rows that are looked at on a side: a burst has several */ };

ORDER_BY(by_place, struct demand_place, ORDER(a->object, b->object)
    ?: ORDER(a->addr, b->addr)
    ?: ORDER(a->cell, b->cell))

static bool same_burst(const struct demand_place *a, const struct demand_place *b)
{
    return a->thread == b->thread && a->burst == b->burst;
}

/* Rows of other bursts on one side of `rows[at]`, each burst once, the nearest first. */
static unsigned side(const struct demand_place *rows, size_t count, size_t at, int step,
                     const struct demand_place **found)
{
    unsigned size = 0;
    const struct demand_place *here = &rows[at];
    for (unsigned i = 1; i <= FURTHEST && size < SIDE; i++) {
        size_t next = step > 0 ? at + i : at - i;
        if (next >= count || rows[next].object != here->object) /* below 0 it is huge */
            break;
        const struct demand_place *row = &rows[next];
        if (!same_burst(row, here) && (size == 0 || !same_burst(row, found[size - 1])))
            found[size++] = row;
    }
    return size;
}

static uint64_t distance(const struct demand_place *a, const struct demand_place *b)
{
    return a->addr > b->addr ? a->addr - b->addr : b->addr - a->addr;
}

void demand_find_near(struct demand *demand, struct demand_place *rows)
{
    size_t count = demand->cells.count;
    qsort(rows, count, sizeof *rows, by_place);
    for (size_t i = 0; i < count; i++) {
        const struct demand_place *below[SIDE], *above[SIDE];
        struct demand_cell *cell = &demand->cells.items[rows[i].cell];
        if (rows[i].object == DEMAND_NONE)
            continue;
        unsigned low = side(rows, count, i, -1, below), high = side(rows, count, i, 1, above), from = 0, to = 0;
        while (from < low || to < high) {
            bool under = to == high || (from < low && distance(below[from], &rows[i]) <= distance(above[to], &rows[i]));
            cell->near[cell->near_count++] = under ? below[from++]->thread : above[to++]->thread;
        }
    }
}
