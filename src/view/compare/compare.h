/* view/compare/compare.h - two runs, or one program under several placements, as text and JSON (docs/compare.md). */
#pragma once

#include "compare/difference.h"
#include "compare/verdict.h"
#include "view/view.h"

struct compare_options {
    const struct view_options *view;
    unsigned tables;     /* bits of enum profile_table */
    bool with_noise;     /* rows that differ by no more than chance are shown too */
    const char *damaged; /* the file that is not whole, or NULL */
};

int view_difference(const struct difference *difference, const struct compare_options *options, FILE *out,
                    struct error *err);

struct placements_run { /* what `compare -- program` did */
    const char *command;
    const struct placed *items; /* also those that could not be had: without runs */
    uint32_t count;
    uint32_t repeat;
    bool simulated, plain, same_output; /* same_output: was asked for, and holds */
    const struct figures_options *figures;
    const char *unit, *kept; /* kept: where the traces are, or NULL */
    const struct verdict *verdict;
};

int view_placements(const struct placements_run *run, const struct view_options *options, FILE *out, struct error *err);
