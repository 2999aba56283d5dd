#include "view/node_matrix.h"

#include "flow/flow.h"
#include "base/number.h"

enum { SHOWN_NODES = 12 };

void node_matrix_print(const struct topology *topology, node_matrix_cell *cell, const void *argument, FILE *out,
                       unsigned width, bool color)
{
    uint32_t nodes = topology->node_count;
    char names[SHOWN_NODES][24];
    if (nodes > SHOWN_NODES) {
        fprintf(out, "  %u nodes are too many for a table: --json has every pair.\n", nodes);
        return;
    }
    struct table *table = table_new();
    table_column(table, "from \\ to", TABLE_LEFT);
    for (uint32_t i = 0; i < nodes; i++) {
        snprintf(names[i], sizeof names[i], "node %d", topology->nodes[i].os_index);
        table_column(table, names[i], TABLE_RIGHT);
    }
    for (uint32_t from = 0; from < nodes; from++) {
        table_cell(table, "%s", names[from]);
        for (uint32_t to = 0; to < nodes; to++)
            cell(table, from, to, argument);
    }
    table_print(table, out, 2, width, color);
}

struct accesses {
    const uint64_t *matrix;
    uint64_t all;
    uint32_t nodes;
};

static void put_part(struct table *table, uint32_t from, uint32_t to, const void *argument)
{
    const struct accesses *accesses = argument;
    uint64_t part = accesses->matrix[from * accesses->nodes + to];
    table_cell(table, "%s", number_percent(part, accesses->all));
    if (from != to && part * 10 > accesses->all)
        table_hot(table);
}

void node_matrix_accesses(const struct topology *topology, const uint64_t *matrix, uint64_t all, FILE *out,
                          unsigned width, bool color)
{
    struct accesses accesses = {matrix, all, topology->node_count};
    node_matrix_print(topology, put_part, &accesses, out, width, color);
}
