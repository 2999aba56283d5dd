#include "cli/command.h"

#include <stdio.h>

int cmd_report(int argc, char **argv)
{
    (void)argc;
    struct error err;
    error_set(&err, -1, "%s has no body yet", argv[0]);
    return command_failed("report", &err);
}
