/* view/report/row_variables.c - the name that the source gives to what a row's line allocates, such as `s->basis` (SPEC M16). */
#include "analysis/names/site_variable.h"
#include "base/strtab.h"
#include "view/report/rows.h"

/* Rows with one site have one variable: a run may have very many rows of few sites. */
void rows_variable(struct rows *rows, struct row *row)
{
    bool is_new;
    row->variable = "";
    if (row->site == FLOW_NONE)
        return;
    if (!rows->variables) {
        rows->variables = strtab_new();
        rows->sources = sources_new();
    }
    uint64_t *text = map64_insert(&rows->variable_of, row->site, &is_new);
    char name[SOURCE_NAME_MAX];
    if (is_new && site_variable(rows->sources, rows->flow, row->site, row->process, name))
        *text = strtab_add(rows->variables, name);
    row->variable = strtab_text(rows->variables, (uint32_t)*text);
}

void rows_variables(struct rows *rows)
{
    array_each (&rows->items, struct row, row)
        rows_variable(rows, row);
}

void rows_variables_free(struct rows *rows)
{
    strtab_free(rows->variables);
    sources_free(rows->sources);
    map64_free(&rows->variable_of);
}
