/* flow/names/site_names.h - what people call what a site allocates: `s->basis`, `World::particles`; and its type.
 *
 * All of it comes from the program: the source text, debug information, the chain of calls. So a site has one name in every run
 * and everywhere it is shown, whatever the samples are. */
#pragma once

#include "flow/flow.h"

struct site_step { /* one logical frame of the chain that allocates */
    uint32_t trail;
    uint32_t name; /* in flow->names */
};

/* Fills variable, type and name of all sites. The steps of site i are [first[i], first[i + 1]), innermost first; the last is
 * the frame that the site is drawn at; there may be none. */
void site_names_make(struct flow *flow, const struct site_step *steps, const uint32_t *first);
