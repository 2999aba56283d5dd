#include "view/columns/columns.h"

#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "a narrow member is the low bytes of a wide one");

/* Of each table, in JSON's order. */
static const struct column *const described[VIEW_ALL][5] = {
    [VIEW_OBJECTS] = {object_columns, life_columns, totals_columns, object_more_columns},
    [VIEW_SITES] = {object_columns, life_columns, totals_columns, object_more_columns},
    [VIEW_THREADS] = {thread_columns, totals_columns, life_columns, thread_more_columns},
    [VIEW_FUNCTIONS] = {function_columns, totals_columns},
    [VIEW_LINES] = {line_columns, totals_columns, line_more_columns},
    [VIEW_TYPES] = {type_columns, totals_columns, field_more_columns},
    [VIEW_PROCESSES] = {process_columns, totals_columns, life_columns, process_more_columns},
    [VIEW_GROUPS] = {group_columns, totals_columns},
    [VIEW_SOURCE] = {source_columns, totals_columns, source_more_columns},
    [VIEW_FIELDS] = {field_columns, totals_columns, field_more_columns},
};

const struct column *const *columns_of(enum view_table table)
{
    return described[table];
}

bool column_is_end(const struct column *column)
{
    return !column->json && !column->page.name && !column->site_page.name && !column->text.heading && !column->fact;
}

/* Behind every column that has a place; and the name, last of all. */
enum { LAST = UINT8_MAX + 1, NAME_LAST };

/* Where a column stands in text, in the page; 0: nowhere. */
static unsigned text_place(const struct column *column, enum view_table table)
{
    if (!column->text.heading || (column->tables && !(column->tables & 1u << table)))
        return 0;
    return column->text.align == TABLE_FLEX || column->text.align == TABLE_SOURCE ? NAME_LAST
           : column->text.at                                                      ? column->text.at
                                                                                  : LAST;
}

static unsigned page_place(const struct column *column, enum view_table table)
{
    unsigned at = table == VIEW_SITES ? column->site_page.at : column->page.at;
    return !column_page_name(column, table) ? 0 : at ? at : LAST;
}

/* By place; those of one place in the order in which they are described. */
static void insert(struct column_list *list, enum view_table table, const struct column *const *columns,
                   unsigned (*place)(const struct column *, enum view_table))
{
    for (; *columns; columns++) {
        for (const struct column *column = *columns; !column_is_end(column); column++) {
            unsigned at = list->count;
            if (place(column, table) == 0)
                continue;
            if (list->count++ == MOST_COLUMNS)
                abort();
            for (; at > 0 && place(list->items[at - 1], table) > place(column, table); at--)
                list->items[at] = list->items[at - 1];
            list->items[at] = column;
        }
    }
}

struct column_list columns_text(enum view_table table)
{
    struct column_list list = {0};
    insert(&list, table, described[table], text_place);
    return list;
}

const char *column_page_name(const struct column *column, enum view_table table)
{
    return table == VIEW_SITES ? column->site_page.name : column->page.name;
}

struct column_list columns_page(enum view_table table, const struct column *const *more)
{
    struct column_list list = {0};
    insert(&list, table, described[table], page_place);
    insert(&list, table, more, page_place);
    return list;
}

const struct facts_subject *row_subject(const struct rows *rows, const struct row *row)
{
    if (!rows->facts)
        return NULL;
    if (rows->table == VIEW_SITES && row->site != FLOW_NONE)
        return row->site < rows->facts->sites.count ? &rows->facts->sites.items[row->site] : NULL;
    return facts_of_object(rows->facts, row->object);
}

static const void *base_of(const struct column *column, const struct rows *rows, const struct row *row)
{
    const struct flow *flow = rows->flow;
    switch ((enum column_base)column->base) {
    case BASE_OBJECT:
        return row->object != FLOW_NONE ? flow_object(flow, row->object) : NULL;
    case BASE_SITE:
        return row->site != FLOW_NONE ? flow_site(flow, row->site) : NULL;
    case BASE_THREAD:
        return row->alloc_thread != FLOW_NONE ? flow_thread(flow, row->alloc_thread) : NULL;
    case BASE_PROCESS:
        return flow_process(flow, row->process);
    case BASE_GROUP:
        return flow_group(flow, row->id);
    default:
        return row;
    }
}

static bool is_text(unsigned type)
{
    return type == VALUE_TEXT || type == VALUE_TEXT_OR_NULL || type == VALUE_TEXT_OR_ABSENT;
}

static struct value fact_column(unsigned index, const struct rows *rows, const struct row *row)
{
    const struct facts_subject *subject = row_subject(rows, row);
    if (!subject)
        return (struct value){.type = VALUE_ABSENT};
    struct fact_value fact = fact_value(&fact_table[index], subject, rows->flow);
    enum value_type type = fact.word       ? VALUE_TEXT
                           : !fact.known   ? VALUE_UNKNOWN
                           : fact.decimals ? VALUE_SECONDS
                                           : VALUE_INTEGER;
    return (struct value){.type = type, .number = (uint64_t)fact.number, .real = fact.real, .text = fact.word};
}

struct value column_value(const struct column *column, const struct rows *rows, const struct row *row)
{
    if (column->fact)
        return fact_column(column->fact - 1, rows, row);
    if (column->get)
        return column->get(rows, row);
    const char *base = base_of(column, rows, row);
    struct value value = {.type = column->type};
    if (!base)
        return (struct value){.type = VALUE_UNKNOWN};
    if (is_text(value.type))
        memcpy(&value.text, base + column->offset, sizeof value.text);
    else
        memcpy(&value.number, base + column->offset, column->width);
    if (column->of)
        memcpy(&value.of, base + column->of, sizeof value.of);
    if (column->all)
        memcpy(&value.of, (const char *)rows + column->all, sizeof value.of);
    return value;
}
