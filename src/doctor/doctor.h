/* doctor/doctor.h - what numalens can do on this machine, found out by trying it.
 *
 * Every check is a trial, not a guess from version numbers: an event is opened and must tick, a page's home is asked
 * for, a small program is recorded. What can hang or crash runs in a child with a time limit. */
#pragma once

#include "base/array.h"
#include "topology/topology.h"

#include <stdbool.h>

enum doctor_status {
    DOCTOR_WORKS,
    DOCTOR_LIMITED, /* works, with the stated restriction */
    DOCTOR_MISSING, /* does not work: `detail` says why, `remedy` what would help */
    DOCTOR_FACT,    /* neither good nor bad */
};

struct doctor_check {
    const char *group; /* "sources", "mechanisms", "homes", "kernel", "permissions" */
    const char *id;    /* stable, for JSON: "tick_perf" */
    const char *name;  /* for people */
    enum doctor_status status;
    char *detail;
    char *remedy; /* NULL when there is nothing to do */
};

struct doctor {
    array_of(struct doctor_check) checks;
    struct topology *topology; /* NULL when it cannot be read: then `topology_trouble` */
    char *topology_trouble;
    char *machine;   /* "Linux 6.1.0 on x86_64, Some CPU" */
    bool can_record; /* a trial recording worked */
    char *answer;    /* one line: how `record` works here, or why it does not */
};

/* Tries everything: takes a fraction of a second. The caller frees it. */
struct doctor *doctor_examine(void);
void doctor_free(struct doctor *doctor);

/* What the trial recording records: reads and writes for a moment. This program runs itself with `doctor --exercise`. */
void doctor_exercise(void);
