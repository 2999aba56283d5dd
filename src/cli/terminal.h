/* cli/terminal.h - what standard output can show: colours, letters, how many columns. */
#ifndef NUMALENS_CLI_TERMINAL_H
#define NUMALENS_CLI_TERMINAL_H

#include "view/view.h"

/* Fills color, ascii and, unless the user gave one, width. `color`: auto, always, never, or NULL for auto. */
void terminal_look(struct view_options *view, const char *color, bool has_width);

#endif
