/* cli/allocator_option.h - --allocator NAME=PLACEMENT: what an allocator in FlexMalloc's location files means (docs/plan.md). */
#pragma once

#include "plan/flexmalloc.h"

#include <argp.h>

/* A child of a command's own argp: its input is a struct plan_allocators. */
extern const struct argp allocator_argp;
