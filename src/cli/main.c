/* cli/main.c - the table of commands. */
#include "cli/command.h"
#include "cli/harmless_stderr.h"
#include "cli/usage/help.h"
#include "cli/usage/nearest.h"
#include "cli/usage/perf_habits.h"

#include <argp.h>
#include <stdbool.h>
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
    {"export", cmd_export,
     "print one line a sample; write a recording for flame graphs, pprof, spreadsheets, databases"},
    {"merge", cmd_merge, "the files of one recording with --rotate as one"},
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
          "Options of a command:  numalens help COMMAND\n"
          "Terms (burst, site, home node, finding ...):  numalens help TERM; all of them: numalens help glossary\n",
          out);
}

static int run(size_t command, int argc, char **argv)
{
    char title[64];
    snprintf(title, sizeof title, "numalens %s", commands[command].name);
    argv[0] = title;
    return commands[command].run(argc, argv);
}

static size_t command_named(const char *name)
{
    size_t i = 0;
    while (i < COMMANDS && strcmp(name, commands[i].name) != 0)
        i++;
    return i;
}

/* "there is no command 'recrod'; did you mean record?" */
static int no_such(const char *what, const char *word, bool with_terms)
{
    const char *names[COMMANDS + HELP_TERMS];
    size_t count = 0;
    for (; count < COMMANDS; count++)
        names[count] = commands[count].name;
    if (with_terms)
        count += help_terms(names + count);
    const char *near = nearest_name(word, names, count), *instead = perf_command(word);
    fprintf(stderr, "numalens: there is no %s '%s'; ", what, word);
    if (instead)
        fprintf(stderr, "use %s\n", instead);
    else if (near)
        fprintf(stderr, "did you mean %s?\n", near);
    else
        fprintf(stderr, "'numalens %s' lists them\n", with_terms ? "help glossary" : "--help");
    return EXIT_USAGE;
}

/* numalens help [COMMAND | TERM...]: a term may have several words. */
static int help(int argc, char **argv)
{
    char topic[128] = "";
    for (int i = 0; i < argc; i++) {
        size_t used = strlen(topic);
        snprintf(topic + used, sizeof topic - used, "%s%s", i ? " " : "", argv[i]);
    }
    if (!*topic) {
        usage(stdout);
        return EXIT_OK;
    }
    size_t command = command_named(topic);
    if (command < COMMANDS)
        return run(command, 2, (char *[]){NULL, "--help", NULL});
    return help_print(topic) ? EXIT_OK : no_such("command or term", topic, true);
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
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "help") == 0 || strcmp(argv[1], "-h") == 0)
        return help(argc - 2, argv + 2);
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0 || strcmp(argv[1], "version") == 0) {
        puts("numalens " NUMALENS_VERSION);
        return EXIT_OK;
    }
    size_t command = command_named(argv[1]);
    return command < COMMANDS ? run(command, argc - 1, argv + 1) : no_such("command", argv[1], false);
}
