/* cli/harmless_stderr.h - what is said on stderr often repeats names from elsewhere: paths, arguments, traces. A name must
 * not be able to steer the terminal, whoever prints it: a command, argp or getopt. So it is not left to them. */
#pragma once

/* From here on each line that goes to stdio's stderr is passed through text_safe, cut in the middle where it is longer than
 * any honest message, and broken at the width of a terminal, or at COLUMNS where that is set. The file descriptor, which a
 * recorded program inherits, stays as it is. */
void harmless_stderr(void);
