/* view/check/check_view.h - what became of the rules that a recording must keep: for people, for programs, for CI servers (JUnit) and
 * for code review (SARIF). docs/compare.md */
#pragma once

#include "compare/check.h"
#include "flow/names/sources.h"
#include "view/view.h"

struct check_shown {
    const struct check *check;
    const struct findings *findings;
    const char *path, *before; /* of the recordings; before may be NULL */
    const char *root;          /* the folder that names of source files are written from */
    int status;                /* that the command will end with */
};

int check_text(const struct check_shown *shown, const struct view_options *options, FILE *out, struct error *err);
int check_json(const struct check_shown *shown, const struct view_options *options, FILE *out, struct error *err);
int check_junit(const struct check_shown *shown, FILE *out, struct error *err);
int check_sarif(const struct check_shown *shown, FILE *out, struct error *err);

/* "far-initialised on plate(demo.c:30): each thread uses ... ". The caller frees it. */
char *check_finding_text(const struct check_finding *finding);

/* check_source.c: a source file, as a URI: relative to `root` where it is below it, as one of file:// where it is elsewhere. The name of
 * one that is not at hand stays as it is, without the steps up in front. The caller frees it. */
char *check_source_uri(const struct source_file *file, const char *root);
