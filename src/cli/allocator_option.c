#include "cli/allocator_option.h"

enum { OPTION_ALLOCATOR = 1 };

static const struct argp_option option_table[] = {
    {"allocator", OPTION_ALLOCATOR, "NAME=PLACEMENT", 0,
     "Of FlexMalloc's location files: what this allocator means; may be given again", 0},
    {0},
};

static error_t parse_option(int key, char *value, struct argp_state *state)
{
    struct error err;
    if (key != OPTION_ALLOCATOR)
        return ARGP_ERR_UNKNOWN;
    if (plan_allocators_add(state->input, value, &err) < 0)
        argp_error(state, "--allocator: %s", err.text);
    return 0;
}

const struct argp allocator_argp = {.options = option_table, .parser = parse_option};
