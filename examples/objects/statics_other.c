/* statics_other.c - another file with a static object `table`. */
#include "statics.h"

static volatile long table[ITEMS]; /* site: table */

long other_file(void)
{
    table[0]++;
    return walk(table, ITEMS, PASSES);
}
