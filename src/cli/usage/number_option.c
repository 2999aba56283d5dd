#include "cli/usage/number_option.h"

#include <errno.h>
#include <stdlib.h>

unsigned long number_option(const struct argp_state *state, const char *name, const char *text, unsigned long min,
                            unsigned long max)
{
    char *end;
    errno = 0;
    unsigned long number = strtoul(text, &end, 10);
    if (end == text || *end || errno || text[0] == '-' || number < min || number > max)
        argp_error(state, "--%s: '%s' is no number between %lu and %lu", name, text, min, max);
    return number;
}
