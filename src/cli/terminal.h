/* cli/terminal.h - what standard output can show: colours, letters, how many columns. */
#pragma once

#include "view/view.h"

#include <argp.h>

struct terminal_options {
    struct view_options *view; /* json and width, as given */
    const char *color;         /* auto, always, never, or NULL for auto */
    bool has_width;
};

/* --json, --color and --width: a child of a command's own argp, with struct terminal_options as its input. */
extern const struct argp terminal_argp;

/* Fills color, ascii and, unless the user gave one, width. */
void terminal_look(const struct terminal_options *options);
