#include "cli/output_options.h"
#include "cli/usage/option_value.h"

static const struct argp_option option_table[] = {
    {"output", 'o', "FILE", 0, "Write this file", 0},
    {"quiet", 'q', NULL, 0, "Print nothing but errors", 0},
    {0},
};

static const struct option_value values[] = {
    OPTION_TEXT('o', struct output_options, path), OPTION_FLAG('q', struct output_options, quiet), {0}};

static error_t parse(int key, char *value, struct argp_state *state)
{
    return option_value_take(values, option_table, key, value, state);
}

const struct argp output_argp = {.options = option_table, .parser = parse};
