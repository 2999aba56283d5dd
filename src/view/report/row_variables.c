/* view/report/row_variables.c - the name that the source gives to what a row's line allocates, such as `s->basis` (SPEC M16). */
#include "analysis/names/sources.h"
#include "base/strtab.h"
#include "view/report/rows.h"

/* Rows with one site have one variable: a run may have very many rows of few sites. */
static const char *variable_of(struct rows *rows, struct sources *sources, struct map64 *known, const struct row *row)
{
    bool is_new;
    uint64_t *text = map64_insert(known, row->site, &is_new);
    if (!is_new)
        return strtab_text(rows->variables, (uint32_t)*text);
    const struct flow_site *site = flow_site(rows->flow, row->site);
    const struct flow_process *process = flow_process(rows->flow, row->process);
    char name[SOURCE_NAME_MAX];
    if (site && site->line && sources_name(sources, site->file, site->line, process ? process->exe : "", name))
        *text = strtab_add(rows->variables, name);
    return strtab_text(rows->variables, (uint32_t)*text);
}

void rows_variables(struct rows *rows)
{
    struct sources *sources = sources_new();
    struct map64 known = {0};
    rows->variables = strtab_new();
    array_each (&rows->items, struct row, row)
        row->variable = row->site != FLOW_NONE ? variable_of(rows, sources, &known, row) : "";
    map64_free(&known);
    sources_free(sources);
}
