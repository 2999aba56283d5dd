/* compare/profile_names.h - which entries of a profile an access belongs to; private to src/compare. */
#pragma once

#include "analysis/facts/accesses.h"
#include "compare/profile.h"

struct profile_names;

/* Keeps using both. Entries are made when they are first asked for. */
struct profile_names *profile_names_new(struct profile *profile, const struct accesses *accesses);
void profile_names_free(struct profile_names *names);

/* For each table the entry's index, or FLOW_NONE. */
void profile_names_of(struct profile_names *names, const struct one_access *access, uint32_t entries[PROFILE_TABLES]);

/* The entry of an object that was asked for already, else FLOW_NONE. */
uint32_t profile_names_object(const struct profile_names *names, uint32_t object);

/* Fills the entries' `number`, once all accesses were asked for. */
void profile_names_number(const struct profile_names *names);
