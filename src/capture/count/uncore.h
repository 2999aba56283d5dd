/* capture/count/uncore.h - the families of memory controllers' counters that are known, as data. */
#pragma once

#include "capture/count/count_plan.h"

enum uncore_scope {
    UNCORE_OF_NODE,    /* a device counts for the node of the CPU that its cpumask names */
    UNCORE_OF_PACKAGE, /* for the whole package of that CPU, or its die where a package has several such CPUs */
};

struct uncore_event {
    const char *devices; /* pattern of their names */
    enum count_what what;
    const char *event; /* the kernel's name for it, or "term=value,..." where it has none */
    double bytes;      /* of one event, where the kernel reports no scale; 0: nobody says */
    bool optional;     /* the rest is good without it */
    unsigned channels; /* as many events, one for each channel: the term "event" grows by 0x40 with each */
};

enum { UNCORE_EVENTS_MOST = 9 }; /* the last one has no devices */

struct uncore_family {
    const char *name;
    enum uncore_scope scope;
    enum count_side side;
    const char *device, *file,
        *content; /* the family is this one only where that file of that device says so; or NULL */
    struct uncore_event events[UNCORE_EVENTS_MOST];
};

/* Best first; ends with one without a name. */
extern const struct uncore_family uncore_families[];
