/* plan/flexmalloc.h - location files of FlexMalloc (github.com/intel/flexmalloc) as plans: one call chain a line, the innermost frame first,
 * and the allocator that serves it.
 *
 *     # a comment
 *     libtester.c:6 > main.c:9 > libc-start.c:342 @ memkind/pmem
 *     /usr/bin/app!1f2a > /usr/bin/app!2040 @ posix
 *
 * An allocator's name is a placement in a plan's words, or one that was given to it; `posix` is the memory that a program has anyway. */
#pragma once

#include "plan/plan_words.h"

struct plan_allocator {
    char *name, *placement; /* as a plan writes it */
};

struct plan_allocators { /* zeroed = none */
    array_of(struct plan_allocator) items;
};

/* "NAME=PLACEMENT"; -EINVAL with `err`. */
int plan_allocators_add(struct plan_allocators *allocators, const char *text, struct error *err);
void plan_allocators_free(struct plan_allocators *allocators);

/* Why an entry of the plan cannot be in such a file, or NULL: it can. */
const char *flexmalloc_refuses(const struct placement_plan *plan, size_t index);
void flexmalloc_write(FILE *out, const struct placement_plan *plan, const struct plan_allocators *allocators);

/* Whether a chain is over at this file: of a frame of libc's before main or a thread's start routine, or of one that FlexMalloc's makers of
 * files could not name. FlexMalloc itself cannot name such a frame of libc either, and compares what is before it. */
bool flexmalloc_ends_chain(const char *frame);

/* For plan_read.c: whether the first line that says something is one; each line that is no comment. */
bool flexmalloc_is_line(const char *line);
int flexmalloc_read_line(struct plan_reading *reading, char *line);
