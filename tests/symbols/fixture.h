/* tests/symbols/fixture.h - what the tests know of the fixtures without asking the code under test. */
#ifndef FIXTURE_H
#define FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

/* A symbol's address in an unstripped file, by its exact name or "name.NUMBER"; fails the test when there is none. */
uint64_t fixture_address(const char *binary, const char *name, uint64_t *size);

/* The line of a source that carries "@mark". */
uint32_t fixture_line(const char *source, const char *mark);

/* Runs a shell command made like printf; fails the test unless it succeeds. */
void fixture_run(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A fresh directory with a copy of `binary` in it under the same base name; `fixture_clean` removes it. */
char *fixture_directory(const char *binary, char **copy);
void fixture_clean(char *directory, char *copy);

bool fixture_ends_with(const char *text, const char *end);

#endif
