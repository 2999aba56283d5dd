/* compare/difference_internal.h - the steps that difference_make is made of; private to src/compare. */
#pragma once

#include "compare/difference.h"

/* renamed.c: joins rows of objects that the two runs have under different names. */
void difference_join(struct difference *difference);

/* difference_text.c: words for a change; fills what, proof and note. */
void difference_sentences(struct difference *difference);
