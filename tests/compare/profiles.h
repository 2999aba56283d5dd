/* profiles.h - profiles made by hand, for what is compared. */
#ifndef NUMALENS_TESTS_COMPARE_PROFILES_H
#define NUMALENS_TESTS_COMPARE_PROFILES_H

#include "base/strtab.h"
#include "compare/difference.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

enum { BURST = 16 };

static inline struct profile *blank(unsigned bursts)
{
    struct profile *profile = mem_zalloc(sizeof *profile);
    profile->texts = strtab_new();
    profile->path = profile->command = profile->placement = profile->verdict = "";
    profile->unit = "ns";
    profile->nodes = 2;
    profile->homes = mem_zalloc(5 * sizeof *profile->homes);
    profile->node_numbers = mem_zalloc(3 * sizeof *profile->node_numbers);
    profile->bursts = bursts;
    for (unsigned i = 0; i < bursts; i++) {
        ratio_add(&profile->all, BURST, BURST);
        ratio_add(&profile->far, 0, BURST);
    }
    return profile;
}

/* An entry that `with` of the bursts are about, `remote` of 16 of their accesses remote, `latency` each. */
static inline void add(struct profile *profile, enum profile_table table, const char *name, uint32_t order,
                       unsigned with, unsigned remote, double latency)
{
    struct profile_entry entry = {.name = strtab_intern(profile->texts, name),
                                  .file = "",
                                  .module = "",
                                  .line = order,
                                  .order = order,
                                  .loose = strtab_add(profile->texts, name),
                                  .samples = with * BURST};
    for (unsigned i = 0; i < with; i++) {
        ratio_add(&entry.share, BURST, BURST);
        /* Not all bursts are alike, or there would be nothing to be unsure of. */
        ratio_add(&entry.far, i % 2 ? remote : remote ? remote - 1 : 0, BURST);
        ratio_add(&entry.of_all, remote, BURST);
        ratio_add(&entry.latency, latency * BURST * (i % 2 ? 1.1 : 0.9), BURST);
    }
    entry.share.bursts = profile->all.bursts;
    entry.share.n = profile->all.n;
    entry.share.nn = profile->all.nn;
    array_push(&profile->tables[table], entry);
}

static const struct difference_row *row_named(const struct difference *difference, enum profile_table table,
                                              const char *name, uint32_t order)
{
    array_each (&difference->tables[table], const struct difference_row, row) {
        const struct profile_entry *entry = row->sides[0] ? row->sides[0] : row->sides[1];
        if (strcmp(entry->name, name) == 0 && entry->order == order)
            return row;
    }
    fail_msg("no row %s", name);
    return NULL;
}

#endif
