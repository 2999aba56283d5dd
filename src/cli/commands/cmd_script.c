/* cli/commands/cmd_script.c - numalens script: compiles an analysis written in C over the flows and runs it on a trace. */
#include "cli/command.h"

#include "base/array.h"
#include "base/text.h"
#include "cli/input/input_files.h"
#include "cli/progress_line.h"
#include "cli/script_build.h"
#include "cli/symfs.h"
#include "cli/topology_options.h"
#include "cli/usage/option_value.h"

#include <argp.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char description[] =
    "Compiles SCRIPT, a C program over numalens/flow.h, and runs it on a recording.\v"
    "SCRIPT is a file (mine.c, ./mine.cc) or the name of a ready one. Arguments after '--' go to the script; those of "
    "the form KEY=VALUE restrict which accesses it sees (kind=heap, thread='worker*', time=0.5..2).\n" INPUT_HELP "\n"
    "The compiler is $CC ($CXX for .cc, .cpp and .cxx), else cc, gcc or clang. It works in a folder of its own in "
    "$TMPDIR, "
    "else in /tmp.\n\n"
    "EXAMPLES\n"
    "  numalens script --list\n"
    "  numalens script switches\n"
    "  numalens script remote other.data -- kind=heap time=0.5..2\n"
    "  numalens script --show switches > mine.c\n"
    "  numalens script mine.c other.data -- 10\n\n"
    "The exit status is the script's; 1 when it cannot be compiled or run, 2 for wrong usage.";

enum { OPTION_LIST = 1, OPTION_SHOW, OPTION_FLAGS };

static const struct argp_option option_table[] = {
    {"list", OPTION_LIST, NULL, 0, "The ready scripts, a line each", 0},
    {"show", OPTION_SHOW, "NAME", 0, "The source of a ready script, to start from", 0},
    {"flags", OPTION_FLAGS, "TEXT", 0, "More flags for the compiler: \"-g -lfoo\"", 0},
    {0},
};

struct options {
    bool list;
    const char *show, *script, *flags, *symfs;
    struct input input;
    struct topology_options topology;
};

static const struct option_value values[] = {
    OPTION_FLAG(OPTION_LIST, struct options, list),
    OPTION_TEXT(OPTION_SHOW, struct options, show),
    OPTION_TEXT(OPTION_FLAGS, struct options, flags),
    {0},
};

static error_t parse_option(int key, char *value, struct argp_state *state)
{
    struct options *options = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &options->topology;
        state->child_inputs[1] = &options->symfs;
        state->child_inputs[2] = &options->input;
        break;
    case ARGP_KEY_ARG:
        if (options->script)
            return ARGP_ERR_UNKNOWN; /* files, for the child */
        options->script = value;
        break;
    default:
        return option_value_take(values, option_table, key, value, state);
    }
    return 0;
}

/* A ready script by its name; the caller frees it. */
static char *ready_script(const char *name, struct error *err)
{
    char *folder = script_folder(err);
    if (!folder)
        return NULL;
    char *path = mem_format("%s/%s.c", folder, name);
    if (*name == '.' || strchr(name, '/') || access(path, R_OK) < 0) {
        error_set(
            err, -ENOENT,
            "there is no ready script '%.60s'; 'numalens script --list' names them, and a file of your own is given "
            "with its ending: %.60s.c",
            name, name);
        free(path);
        path = NULL;
    }
    free(folder);
    return path;
}

static char *script_path(const char *name, struct error *err)
{
    return strchr(name, '/') || strchr(name, '.') ? mem_strdup(name) : ready_script(name, err);
}

/* What stands behind " - " in a script's first line. */
static void list_one(const char *folder, const char *file)
{
    char line[256] = "";
    char *path = mem_format("%s/%s", folder, file);
    FILE *in = fopen(path, "r");
    free(path);
    if (!in)
        return;
    if (!fgets(line, sizeof line, in))
        line[0] = 0;
    fclose(in);
    const char *dash = strstr(line, " - ");
    line[strcspn(line, "\n")] = 0;
    printf("  %-14.*s %s\n", (int)(strlen(file) - 2), file, dash ? dash + 3 : "");
}

static int is_script(const struct dirent *entry)
{
    size_t length = strlen(entry->d_name);
    return length > 2 && entry->d_name[0] != '.' && strcmp(entry->d_name + length - 2, ".c") == 0;
}

static int list(struct error *err)
{
    struct dirent **files;
    char *folder = script_folder(err);
    if (!folder)
        return -ENOENT;
    int count = scandir(folder, &files, is_script, alphasort);
    if (count < 0) {
        int code = error_set(err, -errno, "%s: %s", folder, strerror(errno));
        free(folder);
        return code;
    }
    puts("Ready scripts. Run one:  numalens script NAME [FILE...] [-- ARGUMENTS]\n"
         "Its source, to start from:  numalens script --show NAME\n");
    for (int i = 0; i < count; i++) {
        list_one(folder, files[i]->d_name);
        free(files[i]);
    }
    free(files);
    free(folder);
    return 0;
}

static int show(const char *name, struct error *err)
{
    char *path = ready_script(name, err);
    if (!path)
        return -ENOENT;
    char buffer[4096];
    size_t got;
    FILE *in = fopen(path, "r");
    if (!in) {
        int code = error_set(err, -errno, "%s: %s", path, strerror(errno));
        free(path);
        return code;
    }
    while ((got = fread(buffer, 1, sizeof buffer, in)) > 0)
        fwrite(buffer, 1, got, stdout);
    fclose(in);
    free(path);
    return 0;
}

static void export_option(const char *name, const char *value)
{
    if (value)
        setenv(name, value, 1);
}

/* The file that the script opens. */
static int find_trace(struct input *input, struct error *err)
{
    int code = input_find(input, err);
    array_each (&input->files, char *, file)
        if (code == 0 && input->files.count > 1 && access(*file, F_OK) < 0)
            return error_set(err, -errno, "cannot open %s: %s; arguments of the script come after '--'", *file,
                             strerror(errno));
    if (code == 0 && (code = input_merge(input, err)) == 0 && *input->merged_path)
        fcntl(input->merged, F_SETFD, 0); /* it is the script's then */
    return code;
}

/* Does not return when all goes well: this process becomes the script. */
static int run(struct options *options, char **arguments, struct error *err)
{
    char *source = script_path(options->script, err);
    if (!source)
        return -ENOENT;
    progress_line_begin("script", false, false);
    int found = find_trace(&options->input, err);
    if (found < 0) {
        free(source);
        return found;
    }
    progress_line_end();
    int program = script_build(source, options->flags, err);
    if (program < 0) {
        free(source);
        return program;
    }
    array_of(char *) command = {0};
    array_push(&command, text_file_stem(source));
    array_push(&command, mem_strdup(options->input.path));
    for (; *arguments; arguments++)
        array_push(&command, mem_strdup(*arguments));
    array_push(&command, NULL);
    export_option("NUMALENS_TOPOLOGY", options->topology.spec);
    export_option("NUMALENS_ASSIGN", options->topology.assign);
    export_option("NUMALENS_HOMES", options->topology.homes);
    export_option("NUMALENS_SYMFS", options->symfs);
    extern char **environ;
    fexecve(program, command.items, environ);
    int code = error_set(err, -errno, "cannot run the compiled script: %s%s", strerror(errno),
                         errno == EACCES ? "; if programs may not run from /tmp, name another place in $TMPDIR" : "");
    close(program);
    array_each (&command, char *, word)
        free(*word);
    array_free(&command);
    free(source);
    return code;
}

int cmd_script(int argc, char **argv)
{
    struct options options = {0};
    const struct argp_child children[] = {
        {&topology_argp, 0, NULL, 0}, {&symfs_argp, 0, NULL, 0}, {&input_argp, 0, NULL, 0}, {0}};
    const struct argp argp = {.options = option_table,
                              .parser = parse_option,
                              .args_doc = "SCRIPT [FILE...] [-- ARGUMENT...]\n--list\n--show NAME",
                              .doc = description,
                              .children = children};
    struct error err = {0};
    int own = 1;
    while (own < argc && strcmp(argv[own], "--") != 0)
        own++;
    char **arguments = argv + (own < argc ? own + 1 : argc);
    argv[own] = NULL;
    argp_parse(&argp, own, argv, 0, NULL, &options);
    if (!options.list && !options.show && !options.script) {
        error_set(&err, -EINVAL,
                  "a script is missing: numalens script switches, or numalens script mine.c; --list names the ready "
                  "ones. One "
                  "line a sample, as perf script prints them: numalens export --format text");
        command_failed("script", &err);
        return EXIT_USAGE;
    }
    int failed = options.list ? list(&err) : options.show ? show(options.show, &err) : run(&options, arguments, &err);
    input_free(&options.input);
    return failed < 0 ? command_failed("script", &err) : EXIT_OK;
}
