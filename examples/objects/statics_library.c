/* statics_library.c - a static object in a shared library. */
#include "statics.h"

static volatile long library_table[ITEMS]; /* site: library_table */

long in_library(void)
{
    library_table[0]++;
    return walk(library_table, ITEMS, PASSES);
}
