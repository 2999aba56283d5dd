/* capture/agent/custom_spec.h - functions that the user names as allocators, from the words of record's options.
 *
 *     NAME:WORD,WORD...     arguments are numbered from 1
 *
 * --alloc-fn  size=N, size=N*M or size=text; count=N; ret (the default) or out=N; ok=0 or ok=nonzero; pool=N; old=N
 * --free-fn   ptr=N
 * --pool-fn   one of create, clear, destroy, alloc; then create: ret or out=N, ok=, parent=N; clear and destroy:
 *             pool=N; alloc: as --alloc-fn. Without a colon: a ready set, such as apr.
 *
 * docs/objects.md says what they mean. */
#pragma once

#include "base/error.h"
#include "wire/custom.h"

#include <stddef.h>

enum custom_option { CUSTOM_ALLOC_FN, CUSTOM_FREE_FN, CUSTOM_POOL_FN };

struct custom_specs { /* zeroed = empty and ready */
    struct wire_custom items[WIRE_CUSTOM_MOST];
    uint32_t count;
};

/* Adds what `text` names. -EINVAL with `err` when it is not understood; nothing is added then. */
int custom_spec_add(struct custom_specs *specs, enum custom_option option, const char *text, struct error *err);

/* The functions' names with a blank between; the caller frees it. */
char *custom_spec_names(const struct wire_custom *specs, uint32_t count);
