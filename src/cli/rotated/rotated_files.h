/* cli/rotated/rotated_files.h - the files of one recording with --rotate, named one by one or by their folder, read as one trace. */
#ifndef NUMALENS_CLI_ROTATED_ROTATED_FILES_H
#define NUMALENS_CLI_ROTATED_ROTATED_FILES_H

#include "base/array.h"
#include "base/error.h"

#include <stdbool.h>

struct rotated_files { /* zeroed = empty and ready */
    array_of(char *) paths;
};

void rotated_add(struct rotated_files *files, const char *path);
void rotated_free(struct rotated_files *files);

/* Takes the first `count` away. */
void rotated_drop(struct rotated_files *files, size_t count);

/* Puts the files of a folder in its place when it is the only path, and they are of such a recording and not of a job's ranks. False when
 * it is another folder. */
bool rotated_look_inside(struct rotated_files *files);

/* One path for all of them: NAME.*.data when they have such names, else the first. The caller frees it. */
char *rotated_name(const struct rotated_files *files);

/* All of them in one file, which is removed with rotated_unmerge; negative with `err`. `*merged` is the caller's. */
int rotated_merge(const struct rotated_files *files, char **merged, struct error *err);
void rotated_unmerge(char *merged);

#endif
