/* cli/usage/number_option.h - a whole number as the argument of an option. */
#pragma once

#include <argp.h>

/* Ends in a usage error that names the option when it is no number, or not between `min` and `max`. */
unsigned long number_option(const struct argp_state *state, const char *name, const char *text, unsigned long min,
                            unsigned long max);
