/* view/compare/compare_rows.h - what the two faces of a difference share; private to src/view. */
#pragma once

#include "view/compare/compare.h"

/* Whether the filter lets a row through, in one of the runs at least. */
bool difference_passes(const struct difference *difference, const struct difference_row *row,
                       const struct view_filter *filter);

/* Whether it changed by more than chance. */
bool difference_is_real(const struct difference_row *row);

int difference_json(const struct difference *difference, const struct compare_options *options, FILE *out,
                    struct error *err);
