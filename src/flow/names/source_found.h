/* flow/names/source_found.h - the names that a line gives to what it allocates, of which the place of a call chooses one. */
#pragma once

#include "flow/names/sources.h"

struct source_name {
    char text[SOURCE_NAME_MAX];
    uint32_t line, column; /* where it begins, both from 1 */
};

enum { SOURCE_NAMES = 64 };

struct source_found {
    struct source_name names[SOURCE_NAMES];
    size_t count;
    bool filled; /* of calls with an address as their first argument only, and that */
    bool library;
    bool columns; /* the call's is known */
    bool fortran;
};

/* Depends on the place's line, `filled`, `library` and whether its column is known. Not for scripts. */
void source_find(const char *text, size_t size, enum source_form form, const struct source_place *place,
                 struct source_found *found);

/* By the place's column, else by its twins. */
bool source_choose(const struct source_found *found, const struct source_place *place, char name[SOURCE_NAME_MAX]);
