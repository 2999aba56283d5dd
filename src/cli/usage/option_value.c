#include "cli/usage/option_value.h"

#include "base/mem.h"
#include "cli/command.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Noreturn void option_refuse(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fprintf(stderr, "%s: ", program_invocation_short_name);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    exit(EXIT_USAGE);
}

_Noreturn void option_complain(const char *name, const char *text, const char *wanted)
{
    option_refuse("--%s '%.60s': %s", name, text, wanted);
}

uint64_t option_whole(const char *name, const char *text, uint64_t min, uint64_t max)
{
    char *end;
    errno = 0;
    uint64_t number = strtoull(text, &end, 10);
    if (end == text || *end || errno || strchr(text, '-') || number < min || number > max)
        option_refuse("--%s '%.60s': a number from %llu to %llu is wanted", name, text, (unsigned long long)min,
                      (unsigned long long)max);
    return number;
}

double option_number(const char *name, const char *text, double min, double max)
{
    char *end;
    double number = strtod(text, &end);
    if (end == text || *end || !isfinite(number) || number < min || number > max)
        option_refuse("--%s '%.60s': a number from %g to %g is wanted", name, text, min, max);
    return number;
}

bool option_parse_time(const char *text, double *ns)
{
    static const struct {
        const char *unit;
        double ns;
    } units[] = {{"s", 1e9},  {"ms", 1e6},   {"us", 1e3},   {"ns", 1},
                 {"m", 60e9}, {"min", 60e9}, {"h", 3600e9}, {"d", 86400e9}};
    char *end;
    *ns = strtod(text, &end);
    for (unsigned i = 0; *text >= '0' && *text <= '9' && i < sizeof units / sizeof *units; i++) {
        if (strcmp(end, units[i].unit) == 0) {
            *ns *= units[i].ns;
            return true;
        }
    }
    return false;
}

uint64_t option_time(const char *name, const char *text, double min_ns, double max_ns, const char *wanted)
{
    double ns;
    if (!option_parse_time(text, &ns) || ns < min_ns || ns > max_ns)
        option_complain(name, text, wanted);
    return (uint64_t)ns;
}

int option_choice(const char *name, const char *text, const char *const *names)
{
    char *list = mem_strdup("");
    for (int i = 0; names[i]; i++) {
        if (strcmp(names[i], text) == 0) {
            free(list);
            return i;
        }
        char *longer = mem_format("%s%s%s", list, i ? ", " : "", names[i]);
        free(list);
        list = longer;
    }
    option_refuse("--%s '%.60s': there are %s", name, text, list);
}

static const char *name_of(const struct argp_option *options, int key)
{
    while (options->key != key)
        options++;
    return options->name;
}

error_t option_value_take(const struct option_value *values, const struct argp_option *options, int key, char *text,
                          const struct argp_state *state)
{
    const struct option_value *value = values;
    while (value->key && value->key != key)
        value++;
    void *member = (char *)state->input + value->offset;
    if (!value->key)
        return ARGP_ERR_UNKNOWN;
    if (value->kind == OPTION_IS_FLAG) {
        *(bool *)member = value->min;
    } else if (value->kind == OPTION_IS_TEXT) {
        *(const char **)member = text;
    } else {
        uint64_t number = option_whole(name_of(options, key), text, value->min, value->max);
        memcpy(member, &number, value->size); /* little-endian, as the page's columns are */
    }
    return 0;
}
