#include "view/node_matrix.h"

#include "topology/topology.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static void put_cell(struct table *table, uint32_t from, uint32_t to, const void *argument)
{
    (void)argument;
    table_cell(table, "%u%u", from, to);
}

static char *printed(const char *spec)
{
    struct error err = {0};
    struct topology *topology = topology_simulate(spec, ASSIGN_PACKED, &err);
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(topology);
    node_matrix_print(topology, put_cell, NULL, out, 100, false);
    fclose(out);
    topology_free(topology);
    return text;
}

static void each_node_has_its_row_and_column(void **state)
{
    (void)state;
    char *text = printed("numa:3 core:1");
    assert_string_equal(text, "  from \\ to  node 0  node 1  node 2\n"
                              "  node 0         00      01      02\n"
                              "  node 1         10      11      12\n"
                              "  node 2         20      21      22\n");
    free(text);
}

static void more_nodes_than_columns(void **state)
{
    (void)state;
    char *text = printed("numa:32 core:1");
    assert_non_null(strstr(text, "32 nodes"));
    assert_non_null(strstr(text, "--json"));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_node_has_its_row_and_column),
                                       cmocka_unit_test(more_nodes_than_columns)};
    return cmocka_run_group_tests_name("node_matrix", tests, NULL, NULL);
}
