/* cli/main.c - the table of commands. */
#include "cli/command.h"
#include "cli/harmless_stderr.h"

#include <argp.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *line;
} commands[] = {
    {"record", cmd_record, "run a program and record which thread accesses which memory"},
    {"report", cmd_report, "print what is remote, which objects and threads cause it, what to change"},
    {"compare", cmd_compare, "what changed between two recordings; a program under every placement"},
    {"check", cmd_check, "whether a recording keeps rules: for CI jobs, with JUnit and SARIF output"},
    {"view", cmd_view, "show a recording in a browser"},
    {"script", cmd_script, "run an analysis of your own, written in C, or a ready one"},
    {"import", cmd_import, "turn a recording of perf mem, perf c2c or MOCA into a trace"},
    {"export", cmd_export, "write a recording for other tools: flame graphs, pprof, spreadsheets, databases"},
    {"dump", cmd_dump, "print one line a sample, with the fields that are asked for"},
    {"migrate", cmd_migrate, "run a program and keep its pages near the threads that use them"},
    {"stat", cmd_stat, "count memory traffic per node while a program runs, or for a time"},
    {"machines", cmd_machines, "models of machines: latency and bandwidth from node to node; measure this one"},
    {"predict", cmd_predict, "run time on other machines and under other placements, by a model"},
    {"doctor", cmd_doctor, "what works on this machine, what does not and why, how to enable it"},
};

enum { COMMANDS = sizeof commands / sizeof *commands };

static void usage(FILE *out)
{
    fputs("usage: numalens COMMAND [options]\n\n", out);
    for (size_t i = 0; i < COMMANDS; i++)
        fprintf(out, "  %-8s %s\n", commands[i].name, commands[i].line);
    fputs("\n"
          "Start with:  numalens record -- ./app args   and then   numalens report\n"
          "Options of a command:  numalens COMMAND --help\n"
          "Terms (burst, site, home node, finding ...):  docs/glossary.md\n",
          out);
}

int command_failed(const char *name, const struct error *err)
{
    fprintf(stderr, "numalens %s: %s\n", name, err->text);
    return EXIT_FAILED;
}

int main(int argc, char **argv)
{
    harmless_stderr();
    argp_err_exit_status = EXIT_USAGE;
    if (argc < 2) {
        usage(stderr);
        return EXIT_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "help") == 0 || strcmp(argv[1], "-h") == 0) {
        usage(stdout);
        return EXIT_OK;
    }
    if (strcmp(argv[1], "--version") == 0) {
        puts("numalens " NUMALENS_VERSION);
        return EXIT_OK;
    }
    for (size_t i = 0; i < COMMANDS; i++) {
        if (strcmp(argv[1], commands[i].name) != 0)
            continue;
        char title[64];
        snprintf(title, sizeof title, "numalens %s", commands[i].name);
        argv[1] = title;
        return commands[i].run(argc - 1, argv + 1);
    }
    fprintf(stderr, "numalens: there is no command '%s'; 'numalens --help' lists them\n", argv[1]);
    return EXIT_USAGE;
}
