/* statics_plugin.c - a static object in a library that is loaded with dlopen. */
#include "statics.h"

static volatile long plugin_table[ITEMS]; /* site: plugin_table */

long in_plugin(void)
{
    plugin_table[0]++;
    return walk(plugin_table, ITEMS, PASSES);
}
