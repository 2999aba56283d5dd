/* cli/command.h - one command of numalens: a row in main.c's table, a file cmd_NAME.c, a page docs/NAME.md.
 *
 * argv[0] is "numalens NAME", so that argp's messages read well. A command returns the exit status: 0, 1 for a failure
 * that it has explained in one line on stderr, 2 for wrong usage; `record` returns the program's own. */
#ifndef NUMALENS_CLI_COMMAND_H
#define NUMALENS_CLI_COMMAND_H

#include "base/error.h"

enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

int cmd_check(int argc, char **argv);
int cmd_compare(int argc, char **argv);
int cmd_machines(int argc, char **argv);
int cmd_merge(int argc, char **argv);
int cmd_migrate(int argc, char **argv);
int cmd_predict(int argc, char **argv);
int cmd_record(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_script(int argc, char **argv);
int cmd_stat(int argc, char **argv);
int cmd_view(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int cmd_import(int argc, char **argv);
int cmd_export(int argc, char **argv);

/* Prints "numalens NAME: text" and returns EXIT_FAILED. */
int command_failed(const char *name, const struct error *err);

#endif
