/* cli/main.c - the table of commands. */
#include "base/sandbox.h"
#include "capture/job_rank.h"
#include "cli/command.h"
#include "cli/harmless_stderr.h"
#include "cli/usage/help.h"
#include "cli/usage/nearest.h"
#include "cli/usage/perf_habits.h"
#include "symbols/cut_file.h"

#include <argp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *line;
} commands[] = {
#define ROW(name, line) {#name, cmd_##name, line},
    COMMAND_LIST(ROW)
#undef ROW
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
          "Terms (burst, site, home node, finding ...):  numalens help TERM\n"
          "All of them:  numalens help glossary\n",
          out);
}

/* Commands that read files of others, start no program and reach nobody; under mpirun its processes reach each other. */
static bool only_reads(const char *name)
{
    struct job_rank rank;
    job_rank_find(&rank, getenv);
    if (rank.in_job)
        return false;
    static const char *const readers[] = {"report", "export", "check", "merge", "import", "predict", "advise"};
    for (size_t i = 0; i < sizeof readers / sizeof *readers; i++)
        if (strcmp(name, readers[i]) == 0)
            return true;
    return false;
}

static int run(size_t command, int argc, char **argv)
{
    static char title[64];
    snprintf(title, sizeof title, "numalens %s", commands[command].name);
    argv[0] = program_invocation_short_name = title;
    if (only_reads(commands[command].name))
        sandbox_enter(SANDBOX_READER);
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
    cut_file_survive();
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
