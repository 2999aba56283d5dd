/* analysis/facts/facts_second_pass.h - the facts that need all the others first: a second pass over the accesses. */
#pragma once

#include "analysis/facts/facts.h"

/* Fills `separated`, `remote_time` and what goes with them, everywhere in `facts`, whose other fields are complete.
 * facts_make's last step. Negative with `err` when the trace cannot be read. */
int facts_second_pass(struct facts *facts, struct error *err);

/* facts_written.c: fills `written_pages` and `proof`, from pages that were recorded beside the samples. */
int facts_find_written(struct facts *facts, struct error *err);
