/* cli/usage/command_options.h - options of commands: what argp does, and what it does not: an unknown option is answered with the
 * nearest one, and completion gets the options out of the same tables.
 *
 * Commands call argp_parse. The linker leads that here (--wrap, in meson.build), so that it holds for every command:
 *
 * - An option that is not in the tables ends the program with status 2 and one line.
 * - --version prints the version.
 * - The one argument --list-options prints the tables and ends the program: a line for each option with its short and long
 *   name, argument and text, tabulators between them (scripts/completion reads it). */
#pragma once

#include <argp.h>

/* An option of perf that means something else here, or nothing: says what to use instead, in one line, and ends the program with
 * status 2. `value` may be NULL. */
void command_instead(const struct argp_state *state, const char *option, const char *value, const char *instead);
