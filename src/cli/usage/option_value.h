/* cli/usage/option_value.h - values of options: most go into a member of the command's struct, by a row of a table; what is no number,
 * time or name that the option takes ends the program with status 2 and one line. */
#pragma once

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum option_kind { OPTION_IS_FLAG, OPTION_IS_TEXT, OPTION_IS_NUMBER };

struct option_value {
    int key; /* 0: behind the last row */
    enum option_kind kind;
    size_t offset, size; /* of the member */
    uint64_t min, max;
};

#define OPTION_ROW(key, kind, type, member, ...)                                                                       \
    {                                                                                                                  \
        key, kind, offsetof(type, member), sizeof(((type *)0)->member), __VA_ARGS__                                    \
    }
#define OPTION_FLAG(key, type, member)             OPTION_ROW(key, OPTION_IS_FLAG, type, member, true, 0)
#define OPTION_NOT(key, type, member)              OPTION_ROW(key, OPTION_IS_FLAG, type, member, false, 0)
#define OPTION_TEXT(key, type, member)             OPTION_ROW(key, OPTION_IS_TEXT, type, member, 0, 0)
#define OPTION_NUMBER(key, type, member, min, max) OPTION_ROW(key, OPTION_IS_NUMBER, type, member, min, max)

/* For a parser to end with: puts the value of the row with that key into state->input; ARGP_ERR_UNKNOWN without such a row. `options`: the
 * parser's own, for their names. */
error_t option_value_take(const struct option_value *values, const struct argp_option *options, int key, char *text,
                          const struct argp_state *state);

/* Each ends the program when `text` is no number from `min` to `max`; `name` is without its dashes. */
uint64_t option_whole(const char *name, const char *text, uint64_t min, uint64_t max);
double option_number(const char *name, const char *text, double min, double max);

/* "90s", "1.5m": false when the text is no time with a unit. */
bool option_parse_time(const char *text, double *ns);
uint64_t option_time(const char *name, const char *text, double min_ns, double max_ns, const char *wanted);

/* Its place among the names, which end with NULL. */
int option_choice(const char *name, const char *text, const char *const *names);

/* "numalens record: --burst '0': what is wanted", and the end. */
_Noreturn void option_complain(const char *name, const char *text, const char *wanted);
_Noreturn void option_refuse(const char *format, ...) __attribute__((format(printf, 1, 2)));
