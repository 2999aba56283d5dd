/* plan/plan_words.h - the words of a plan, for reading and writing, and what its readers share. */
#pragma once

#include "plan/plan_file.h"

extern const char *const plan_kinds[PLACE_KINDS];
extern const char *const plan_policies[PLACE_POLICIES];

struct plan_reading {
    struct placement_plan *plan;
    const struct plan_allocators *allocators; /* or NULL */
    struct error *err;
    unsigned line;   /* 0: it is no file */
    bool flexmalloc; /* it is a file of FlexMalloc's */
    char *comments;  /* since the last entry, or NULL */
    size_t comment_bytes;
};

/* Sets `err` with the file's name and the line; -EINVAL. */
int plan_complain(struct plan_reading *reading, const char *format, ...) __attribute__((format(printf, 2, 3)));

char *plan_trim(char *text); /* what is left of it between blanks, in place */

/* One more entry, with the comments before it; NULL with `err`. Then its placement, as it is written. */
struct plan_entry *plan_read_what(struct plan_reading *reading, enum place_kind kind, const char *what);
int plan_read_policy(struct plan_reading *reading, struct plan_entry *entry, char *text);

void plan_write_comments(FILE *out, const char *text); /* a line each; text may be NULL */
