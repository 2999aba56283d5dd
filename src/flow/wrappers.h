/* flow/wrappers.h - which functions only pass an allocation on, known from their names. */
#pragma once

#include <stdbool.h>

/* malloc and its kin, xmalloc-like names, operator new, the C++ library's insides: never the caller that matters. */
bool wrapper_by_name(const char *function, const char *file);

/* A library whose own allocations are made on a caller's behalf: libc, libstdc++, libgfortran, another allocator. */
bool wrapper_by_module(const char *module);

/* A name such as matrix_new, make_grid, Grid::Grid or pool_alloc: a wrapper when several lines call it. */
bool wrapper_like_constructor(const char *function);
