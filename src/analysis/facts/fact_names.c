/* analysis/facts/fact_names.c - the words for facts, as in reports and JSON. */
#include "analysis/facts/facts.h"

const char *fact_use_name(enum fact_use use)
{
    static const char *const names[] = {
        [USE_READ_ONLY] = "read-only", [USE_READ_MOSTLY] = "read-mostly", [USE_WRITTEN] = "written"};
    return use <= USE_WRITTEN ? names[use] : "?";
}

const char *fact_sharing_name(enum fact_sharing sharing)
{
    static const char *const names[] = {[SHARING_THREAD] = "thread", [SHARING_NODE] = "node", [SHARING_ALL] = "shared"};
    return sharing <= SHARING_ALL ? names[sharing] : "?";
}

const char *fact_turns_name(enum fact_turns turns)
{
    static const char *const names[] = {
        [TURNS_NONE] = "none", [TURNS_DISJOINT] = "disjoint", [TURNS_CONCURRENT] = "concurrent"};
    return turns <= TURNS_CONCURRENT ? names[turns] : "?";
}

const char *fact_shape_name(enum fact_shape shape)
{
    static const char *const names[] = {[SHAPE_UNKNOWN] = "unknown",
                                        [SHAPE_SEQUENTIAL] = "sequential",
                                        [SHAPE_STRIDED] = "strided",
                                        [SHAPE_RANDOM] = "random"};
    return shape <= SHAPE_RANDOM ? names[shape] : "?";
}
