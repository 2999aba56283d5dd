/* view/node_matrix.h - a table with the nodes of CPUs down and the nodes of memory across. */
#pragma once

#include "view/table.h"

#include <stdint.h>

struct topology;

/* Adds the cell for accesses from CPUs of node `from` to memory of node `to`. */
typedef void node_matrix_cell(struct table *table, uint32_t from, uint32_t to, const void *argument);

/* Of more nodes than a screen has room for it prints where every pair is instead. */
void node_matrix_print(const struct topology *topology, node_matrix_cell *cell, const void *argument, FILE *out,
                       unsigned width, bool color);

/* Accesses, `matrix[from * nodes + to]` of `all`, as percentages. */
void node_matrix_accesses(const struct topology *topology, const uint64_t *matrix, uint64_t all, FILE *out,
                          unsigned width, bool color);
