/* cli/usage/nearest.h - what somebody meant who typed a word that is none of those there are. */
#pragma once

#include <stddef.h>

/* The one of `count` names that is nearest to `word`: letters changed, added, missing or swapped, at most one in three; or that
 * begins with it. NULL when none is near. Letters count in any case. */
const char *nearest_name(const char *word, const char *const *names, size_t count);
