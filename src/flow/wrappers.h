/* flow/wrappers.h - which functions only pass an allocation on, known from their names. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* operator new, the insides of the C++ library and of others that hold data for their callers: Boost, Eigen, Kokkos. */
bool wrapper_of_library(const char *function, const char *file);

/* Those, malloc and its kin, xmalloc-like names, and constructors of class templates: never the caller that matters. */
bool wrapper_by_name(const char *function, const char *file);

/* The class of a method: "std::vector<int>" of "std::vector<int>::resize(unsigned long)". False when it has none. */
bool wrapper_class(const char *function, char *text, size_t size);

/* Whether a class that wrapper_class() gave has this name, without scope and template arguments. */
bool wrapper_is_class(const char *class, const char *name);

/* A function that allocates for what it does itself: "sort" of "void std::sort<int*>(int*, int*)", "qsort". False of methods,
 * operators and what makes an object for its caller. */
bool wrapper_algorithm(const char *function, char *text, size_t size);

/* A library whose own allocations are made on a caller's behalf: libc, libstdc++, libgfortran, OpenMP's, another allocator. */
bool wrapper_by_module(const char *module);

/* A name such as matrix_new, make_grid, Grid::Grid or pool_alloc: a wrapper when several lines call it. */
bool wrapper_like_constructor(const char *function);
