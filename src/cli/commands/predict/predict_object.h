/* cli/commands/predict/predict_object.h - the object that --placements replicate:OBJECT names. */
#pragma once

#include <stdint.h>

struct traffic;

enum { PREDICT_NAMES = 200 };

struct predict_names {
    char list[PREDICT_NAMES]; /* of the objects with the most bytes, for a message */
};

/* A flow's object: by its id, or what the source calls it (or its last member), or its symbol or site. UINT32_MAX when none with traffic has that name. */
uint32_t predict_find_object(const struct traffic *traffic, const char *name, struct predict_names *names);
