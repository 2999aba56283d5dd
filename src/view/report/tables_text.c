/* view/report/tables_text.c - rows as tables for people. */
#include "base/order.h"
#include "base/text.h"
#include "view/columns/columns.h"
#include "base/number.h"
#include "view/table.h"

#include <stdlib.h>
#include <string.h>

/* "s->basis(faces.c:55) in read_subspace": what a reader looks for comes first, since long cells are cut. */
static void put_variable(struct table *table, const struct flow *flow, const struct row *row)
{
    table_cell(table, "%s(%s:%u) in %s%s%s", row->variable, text_file_name(row->file), row->line,
               flow_site(flow, row->site)->function, *row->via ? " via " : "", row->via);
    table_shorter(table, "%s(%s:%u)", row->variable, text_file_name(row->file), row->line);
}

/* A function without return type, template arguments and parameters: `Builder::MakeCSR`. */
static void short_function(const char *function, char *text, size_t size)
{
    size_t used = 0;
    int depth = 0;
    for (const char *at = function; *at && used + 1 < size; at++) {
        if (strncmp(at, "operator", 8) == 0 || strncmp(at, "(anonymous namespace)", 21) == 0) {
            size_t length = *at == '(' ? 21 : strcspn(at, "(");
            for (size_t i = 0; i < length && used + 1 < size; i++)
                text[used++] = at[i];
            at += length - 1;
        } else if (*at == '<' || *at == '(') {
            if (depth == 0 && *at == '(')
                break;
            depth++;
        } else if (*at == '>' || *at == ')') {
            depth -= depth > 0;
        } else if (*at == ' ' && depth == 0) {
            used = 0; /* what came was the type that it returns */
        } else if (depth == 0) {
            text[used++] = *at;
        }
    }
    text[used] = '\0';
}

/* Where cells are short, the name, the file and the line stay, and what C++ adds to them goes. */
static void put_function(struct table *table, const struct flow *flow, const struct row *row)
{
    const struct flow_site *site = row->site != FLOW_NONE ? flow_site(flow, row->site) : NULL;
    table_cell(table, "%s%s%s", row->name, *row->via ? " via " : "", row->via);
    if (!site || !*site->function || !site->line)
        return;
    const char *number = strstr(row->name, ") #");
    char text[256];
    bool is_work = strncmp(site->name, site->function, strlen(site->function)) != 0; /* qsort (sorted.c:12) */
    if (is_work)
        snprintf(text, sizeof text, "%.*s", (int)strcspn(site->name, " "), site->name);
    else
        short_function(site->function, text, sizeof text);
    table_shorter(table, "%s(%s:%u)%s", *text ? text : site->function, text_file_name(site->file), site->line,
                  number ? number + 1 : "");
}

/* A static object has an owner when it is thread-local. */
static void put_static(struct table *table, const struct row *row, const struct flow_thread *owner)
{
    char *of = owner ? mem_format(" of %s (%u)", *owner->name ? owner->name : "thread", owner->tid) : NULL;
    if (row->line)
        table_cell(table, "%s (%s:%u)%s", row->name, text_file_name(row->file), row->line, of ? of : "");
    else
        table_cell(table, "%s (%s)%s", row->name, row->module, of ? of : "");
    free(of);
}

static void put_mapped(struct table *table, const struct row *row)
{
    table_cell(table, "%s, mapped by %s", row->name, row->label);
    table_shorter(table, "%s", row->name);
}

static void put_arena(struct table *table, const struct row *row)
{
    const char *others = strstr(row->blocks_of, ", ");
    table_cell(table, "%s with blocks of %s", row->name, row->blocks_of);
    table_shorter(table, "%s with blocks of %.*s%s", row->name,
                  (int)(others ? others - row->blocks_of : (long)strlen(row->blocks_of)), row->blocks_of,
                  others ? ", ..." : "");
}

void table_object(struct table *table, const struct flow *flow, const struct row *row)
{
    const struct flow_thread *owner = row->alloc_thread != FLOW_NONE ? flow_thread(flow, row->alloc_thread) : NULL;
    if (row->kind == OBJECT_STACK && row->count == 1 && owner)
        table_cell(table, "stack of %s (%u)", *owner->name ? owner->name : "thread", owner->tid);
    else if (row->kind == OBJECT_STACK)
        table_cell(table, "stacks of process %u", row->pid);
    else if (row->kind == OBJECT_STATIC)
        put_static(table, row, row->count == 1 ? owner : NULL);
    else if (row->label && row->name != row->label)
        put_mapped(table, row);
    else if (*row->variable)
        put_variable(table, flow, row);
    else if (row->blocks_of)
        put_arena(table, row);
    else
        put_function(table, flow, row);
}

static bool has_groups(const struct flow *flow)
{
    for (uint32_t i = 0; i < flow_group_count(flow); i++) {
        if (flow_group(flow, i)->processes > 1)
            return true;
    }
    return false;
}

ORDER_BY(by_samples, struct row, ORDER(b->totals.samples, a->totals.samples) ?: ORDER(a->id, b->id))

static void print_groups(const struct rows *rows, const struct view_options *options, unsigned indent, FILE *out)
{
    struct rows groups = rows_groups(rows);
    array_sort(&groups.items, by_samples);
    columns_print(&groups, options, indent, out);
    array_free(&groups.items);
    fputc('\n', out);
}

void tables_print(const struct rows *rows, const struct view_options *options, unsigned indent, FILE *out)
{
    if (rows->table == VIEW_PROCESSES && has_groups(rows->flow) && !options->filter.pid)
        print_groups(rows, options, indent, out);
    columns_print(rows, options, indent, out);
    if (rows->matching > rows->items.count)
        fprintf(out, "%*s%s more\n", (int)indent, "", number_count(rows->matching - rows->items.count));
}
