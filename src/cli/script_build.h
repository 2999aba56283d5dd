/* cli/script_build.h - compiles a script (a C or C++ program over numalens/flow.h) and becomes it. */
#pragma once

#include "base/error.h"

/* The folder of the ready scripts; the caller frees it. NULL with `err` when it is not there. */
char *script_folder(struct error *err);

/* Compiles `source`, with `flags` (blanks between them; or NULL) behind the usual ones, in a folder of its own that is
 * deleted on return. An open descriptor of the program, to execute, or a negative code. What the compiler has to
 * say, it says on stderr itself. */
int script_build(const char *source, const char *flags, struct error *err);
