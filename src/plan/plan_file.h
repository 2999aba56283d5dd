/* plan/plan_file.h - a placement plan: which memory and which threads of a program go to which nodes (docs/plan.md).
 *
 * A text that people read and edit, one entry a line:
 *
 *     numalens plan 1
 *     nodes 0-3
 *     program /opt/store 8f3a...
 *     # 72.5% of its accesses are remote
 *     site store.c:54 @ split all
 *     static histogram @ interleave all
 *     thread worker @ distribute
 *     stack worker @ local */
#pragma once

#include "base/array.h"
#include "base/error.h"
#include "topology/placement.h"
#include "wire/place.h"

#include <stdio.h>

struct plan_part { /* a node of an entry */
    uint16_t node, weight;
};

struct plan_entry {
    unsigned line; /* of its file; 0: made up */
    enum place_kind kind;
    char *what;  /* as it is written: a site's call chain, a name; hostile letters are escaped */
    char *lines; /* a site's whole call chain by lines of the source, where advise knows it; or NULL */
    enum place_policy policy;
    bool all; /* of the nodes there are, whichever these are */
    array_of(struct plan_part) parts;
    struct placement_set cpus; /* PLACE_ON_CPUS */
    enum place_huge huge;
    char *evidence; /* comments before it, a line each; or NULL */
};

struct plan_program { /* a binary whose functions, lines and objects entries name */
    unsigned line;
    char *path, *build_id; /* path: as it is written; build_id: "" for any */
};

struct placement_plan { /* zeroed = empty */
    char *name;         /* of the file */
    char *head;         /* comments at its top, or NULL */
    bool has_nodes;     /* it says for which nodes it was written */
    struct placement_set nodes;
    array_of(struct plan_program) programs;
    array_of(struct plan_entry) entries;
};

struct plan_allocators; /* flexmalloc.h */

/* Negative with `err`, which has the file's name and the line, for a text that is no plan. A plan that contradicts itself is none. A
 * location file of FlexMalloc's is read too; `allocators` says what its names mean and may be NULL. */
int plan_read(struct placement_plan *plan, const char *path, const struct plan_allocators *allocators,
              struct error *err);
int plan_read_text(struct placement_plan *plan, const char *name, const char *text,
                   const struct plan_allocators *allocators, struct error *err);

void plan_write(FILE *out, const struct placement_plan *plan);
void placement_plan_free(struct placement_plan *plan);

/* One more entry, empty but for these. */
struct plan_entry *placement_plan_add(struct placement_plan *plan, enum place_kind kind, const char *what,
                                      enum place_policy policy);

/* A name as a plan has it: what would end it, deceive or attack a terminal is \xHH, and so are the letters of `special`; and the name
 * again. The caller frees both. */
char *plan_name_write(const char *name, const char *special);
char *plan_name_read(const char *text);

/* Why no entry can be about that, which the caller frees; or NULL. */
char *plan_name_trouble(enum place_kind kind, const char *what);

/* Of files and shared memory, as wire/place.h has it. The caller frees it. */
char *plan_pattern(const char *what);

/* "site", "static", ...; what an entry wants as it is written: "split 0-3". The caller frees the second. */
const char *plan_kind_name(enum place_kind kind);
char *plan_entry_wants(const struct plan_entry *entry);

/* "0-3,7" */
char *plan_list_text(const struct placement_set *set);
