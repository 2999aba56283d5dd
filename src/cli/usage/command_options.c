#include "cli/usage/command_options.h"

#include "base/array.h"
#include "cli/command.h"
#include "cli/usage/nearest.h"
#include "cli/usage/perf_habits.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef array_of(struct argp_option) option_list;

static bool ends(const struct argp_option *option)
{
    return !option->key && !option->name && !option->doc && !option->group;
}

/* The tables of a parser and its children, aliases with the argument of what they stand for, without headings. */
static void collect(option_list *options, const struct argp *argp)
{
    struct argp_option real = {0};
    for (const struct argp_option *option = argp->options; option && !ends(option); option++) {
        struct argp_option one = *option;
        if (!one.key && !one.name)
            continue;
        if (one.flags & OPTION_ALIAS) {
            one.key = one.key ? one.key : real.key;
            one.arg = real.arg;
            one.flags |= real.flags & OPTION_ARG_OPTIONAL;
        } else {
            real = one;
        }
        array_push(options, one);
    }
    for (const struct argp_child *child = argp->children; child && child->argp; child++)
        collect(options, child->argp);
}

static bool has_letter(const struct argp_option *option)
{
    return option->key > 0 && option->key < 128 && isprint(option->key);
}

static void print_options(const option_list *options)
{
    array_each (options, const struct argp_option, option) {
        if (option->flags & OPTION_HIDDEN)
            continue;
        if (has_letter(option))
            printf("-%c", option->key);
        printf("\t%s%s\t%s\t%s\n", option->name ? "--" : "", option->name ? option->name : "",
               option->arg ? option->arg : "", option->doc ? option->doc : "");
    }
}

static const struct argp_option *letter_named(const option_list *options, char letter)
{
    array_each (options, const struct argp_option, option)
        if (has_letter(option) && option->key == letter)
            return option;
    return NULL;
}

/* By its name or the beginning of one: whether that is unique, getopt says. */
static const struct argp_option *long_named(const option_list *options, const char *name, size_t length)
{
    const struct argp_option *found = NULL;
    array_each (options, const struct argp_option, option) {
        if (!option->name || strncmp(option->name, name, length) != 0)
            continue;
        if (!option->name[length])
            return option;
        found = option;
    }
    return found;
}

static void unknown(const char *command, const option_list *options, const char *word, size_t length)
{
    const char *instead = NULL, *name = NULL, **names = malloc((options->count + 3) * sizeof *names);
    char *plain = strndup(word, length);
    size_t count = 0;
    for (size_t i = 0; names && i < options->count; i++)
        if (options->items[i].name && !(options->items[i].flags & OPTION_HIDDEN))
            names[count++] = options->items[i].name;
    if (names && plain && strncmp(plain, "--", 2) == 0) {
        names[count++] = "help";
        names[count++] = "version";
        name = nearest_name(plain + 2, names, count);
    }
    if (plain)
        instead = perf_option(command, plain);
    fprintf(stderr, "%s: there is no option %s; ", command, plain ? plain : word);
    if (instead)
        fprintf(stderr, "%s\n", instead);
    else if (name)
        fprintf(stderr, "did you mean --%s?\n", name);
    else
        fprintf(stderr, "'%s --help' lists them\n", command);
    exit(EXIT_USAGE);
}

/* Whether the option at `word` takes the next one as its argument. */
static bool take_long(const char *command, const option_list *options, const char *word)
{
    size_t length = strcspn(word + 2, "=");
    const struct argp_option *option = long_named(options, word + 2, length);
    if (!option && strncmp("help", word + 2, length) != 0 && strncmp("usage", word + 2, length) != 0 &&
        strncmp("program-name", word + 2, length) != 0)
        unknown(command, options, word, length + 2);
    return option && option->arg && !(option->flags & OPTION_ARG_OPTIONAL) && !word[2 + length];
}

static bool take_letters(const char *command, const option_list *options, const char *word)
{
    for (const char *at = word + 1; *at; at++) {
        const struct argp_option *option = letter_named(options, *at);
        char alone[] = {'-', *at, '\0'};
        if (!option && *at != '?')
            unknown(command, options, alone, 2);
        if (option && option->arg)
            return !at[1] && !(option->flags & OPTION_ARG_OPTIONAL);
    }
    return false;
}

/* Names that ld's --wrap gives them. */
error_t __real_argp_parse(const struct argp *argp, int argc, char **argv, unsigned flags, int *index, void *input);
error_t __wrap_argp_parse(const struct argp *argp, int argc, char **argv, unsigned flags, int *index, void *input);

error_t __wrap_argp_parse(const struct argp *argp, int argc, char **argv, unsigned flags, int *index, void *input)
{
    option_list options = {0};
    collect(&options, argp);
    if (argc == 2 && strcmp(argv[1], "--list-options") == 0) {
        print_options(&options);
        array_free(&options);
        exit(fflush(stdout) == 0 ? EXIT_OK : EXIT_FAILED);
    }
    if (argc == 2 && strcmp(argv[1], "--version") == 0) {
        array_free(&options);
        puts("numalens " NUMALENS_VERSION);
        exit(EXIT_OK);
    }
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (argv[i][0] != '-' || !argv[i][1]) {
            if (flags & ARGP_IN_ORDER)
                break; /* the program that is run, with options of its own */
            continue;
        }
        if (strcmp(argv[i], "-h") == 0 && !letter_named(&options, 'h'))
            argv[i] = "--help";
        i += argv[i][1] == '-' ? take_long(argv[0], &options, argv[i]) : take_letters(argv[0], &options, argv[i]);
    }
    array_free(&options);
    return __real_argp_parse(argp, argc, argv, flags, index, input);
}

void command_instead(const struct argp_state *state, const char *option, const char *value, const char *instead)
{
    fprintf(stderr, "%s: %s%s%s: %s\n", state->name, option, value ? " " : "", value ? value : "", instead);
    exit(EXIT_USAGE);
}
