/* cli/export_output.h - where an export goes: a file that is there whole or not at all, or standard output. */
#pragma once

#include "base/replace.h"
#include "cli/input/input_files.h"

/* Whether it goes to a terminal; `path` NULL or "-": standard output. */
bool export_output_is_terminal(const char *path);

/* `binary`: the name of a format that no terminal can show, or NULL: then a terminal
 * is refused. Before anything is read. */
int export_output_check(const char *path, const char *binary, struct error *err);

/* Lets `fill` write there. The recording that it reads, `source`, is never written to. */
int export_output(const struct input *source, const char *path, replace_fill *fill, const void *context,
                  struct error *err);

/* Negative with the list of fields when one of these does not exist. */
int export_fields_are_wrong(const char *fields, struct error *err);
