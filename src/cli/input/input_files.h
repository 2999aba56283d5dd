/* cli/input/input_files.h - the recording that a user names, the same way for every command: a file, several files of one recording with
 * --rotate, or the folder that they are in. Several are read as one trace. */
#pragma once

#include "base/array.h"
#include "base/error.h"

#include <argp.h>
#include <stdbool.h>

struct input {              /* zeroed = nothing is named yet */
    array_of(char *) files; /* as named; input_find puts those of a folder in its place */
    char *name;             /* since input_find: one for all of them, NAME.*.data for several */
    const char *path;       /* to be opened: the first file; since input_merge, what has all of them */
    char merged_path[32];   /* in /proc/self/fd, as the merged file has no name: it goes with the process */
    int merged;             /* its descriptor, when there is such a path */
};

/* What the help of a command says of FILE. */
#define INPUT_HELP                                                                                                     \
    "FILE is numalens.data unless named. Several FILEs are files of one recording with --rotate, a folder stands for " \
    "those in it: they are read as one."

/* -i FILE, and every word that the command itself does not take: a child of its own argp, with struct input as its input. */
extern const struct argp input_argp;

/* A word of the command line. Standard input ends the program with status 2: it cannot be a recording. */
void input_parse(struct input *input, const struct argp_state *state, const char *word);
void input_add(struct input *input, const char *word);

/* Which files there are to read; numalens.data when none is named. -EISDIR with `err` for a folder without files of a recording with
 * --rotate: `path` is the folder then. That a file exists is not looked at. */
int input_find(struct input *input, struct error *err);

/* Of two recordings, as compare has them: two words are one each; of more, those of the first one's run are one recording and the rest
 * is the other. `words` is empty afterwards. -EINVAL with `err` when they are not two. */
int input_split(struct input *words, struct input sides[2], struct error *err);

/* Makes one trace of several files; `path` leads to it until input_free. Nothing to do for one file. */
int input_merge(struct input *input, struct error *err);

/* Whether `path` is one of its files. */
bool input_has(const struct input *input, const char *path);

void input_free(struct input *input);

bool input_is_folder(const char *path); /* such as that of a job */
