#include "cli/output_options.h"

static const struct argp_option option_table[] = {
    {"output", 'o', "FILE", 0, "Write this file", 0},
    {"quiet", 'q', NULL, 0, "Print nothing but errors", 0},
    {0},
};

static error_t parse(int key, char *value, struct argp_state *state)
{
    struct output_options *options = state->input;
    if (key == 'o')
        options->path = value;
    else if (key == 'q')
        options->quiet = true;
    else
        return ARGP_ERR_UNKNOWN;
    return 0;
}

const struct argp output_argp = {.options = option_table, .parser = parse};
