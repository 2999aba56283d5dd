/* base/strtab.h - interned strings: equal texts share one number and one pointer that lives as long as the table. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct strtab;

struct strtab *strtab_new(void);
void strtab_free(struct strtab *table);

/* The number of `text`; numbers count up from 0, and "" is always 0. */
uint32_t strtab_add(struct strtab *table, const char *text);
uint32_t strtab_add_bytes(struct strtab *table, const char *bytes, size_t length);

/* The text of a number that strtab_add returned; "" for any other. */
const char *strtab_text(const struct strtab *table, uint32_t id);

/* strtab_text(strtab_add()). */
const char *strtab_intern(struct strtab *table, const char *text);

size_t strtab_count(const struct strtab *table);
