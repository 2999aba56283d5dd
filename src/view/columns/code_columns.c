/* view/columns/code_columns.c - the columns of functions, lines and source text, types and their fields. */
#include "base/text.h"
#include "view/columns/columns.h"

#include <string.h>

static void function_cell(struct table *table, const struct rows *rows, const struct row *row)
{
    (void)rows;
    if (row->line)
        table_cell(table, "%s (%s:%u)", row->name, text_file_name(row->file), row->line);
    else
        table_cell(table, "%s", row->name);
}

const struct column function_columns[] = {
    {NULL, PAGE("id", 1), OF_ROW(INDEX, id)},
    {"function", PAGE("function", 2), NAME("function, and its hottest line"), .cell = function_cell,
     OF_ROW(TEXT, name)},
    {"file", PAGE("file", 3), OF_ROW(TEXT_OR_NULL, file)},
    {"line", PAGE("line", 4), OF_ROW(LINE, line)},
    {"module", PAGE("module", 5), WORDS("module", 21), OF_ROW(TEXT, module)},
    {0},
};

/* Where a function's parameters or those of its template begin: behind operator(), (anonymous namespace):: and the like. */
static size_t parameters_at(const char *name)
{
    size_t at = 0;
    for (;;) {
        at += strcspn(name + at, "(<");
        bool of_operator = at >= 8 && strncmp(name + at - 8, "operator", 8) == 0;
        if (!of_operator && at > 0 && strncmp(name + at, "(anonymous", 10) != 0 && name[at - 1] != '(')
            return at;
        if (!name[at])
            return at;
        at++;
    }
}

/* What a reader looks for comes first: names of functions may be long. */
static void line_cell(struct table *table, const struct rows *rows, const struct row *row)
{
    (void)rows;
    if (!row->line) {
        table_cell(table, "%s", row->name);
        return;
    }
    table_cell(table, "%s:%u %s", text_file_name(row->file), row->line, row->name);
    table_shorter(table, "%s:%u %.*s", text_file_name(row->file), row->line, (int)parameters_at(row->name), row->name);
}

/* "points.p +2": what it accesses most, and how many others. */
static void uses_cell(struct table *table, const struct rows *rows, const struct row *row)
{
    enum { LONGEST = 24 };
    const struct row_use *most = row->uses.count ? row->uses.items : NULL;
    if (most && row->uses.count > 1)
        table_cell(table, "%.*s +%zu", LONGEST, rows_use_name(rows, most), row->uses.count - 1);
    else
        table_cell(table, "%.*s", LONGEST, most ? rows_use_name(rows, most) : "");
}

static void put_uses(struct json *json, const struct rows *rows, const struct row *row)
{
    json_array(json, "objects");
    array_each (&row->uses, const struct row_use, use) {
        json_object(json, NULL);
        json_number(json, "id", use->object);
        json_text(json, "name", rows_use_name(rows, use));
        json_number(json, "samples", use->samples);
        json_number_if(json, "remote", flow_has_homes(rows->flow), use->remote);
        json_end(json);
    }
    json_end(json);
}

static struct value get_from(const struct rows *rows, const struct row *row)
{
    (void)rows;
    return (struct value){.type = VALUE_NODES, .counts = row->from, .of = row->totals.samples};
}

static struct value get_thread_count(const struct rows *rows, const struct row *row)
{
    (void)rows;
    return (struct value){.type = VALUE_COUNT, .number = row->threads.count};
}

/* "0-2,5": the nodes that it is accessed from. */
static void from_cell(struct table *table, const struct rows *rows, const struct row *row)
{
    enum { ENOUGH = 12 };
    const struct topology *topology = flow_topology(rows->flow);
    char text[48] = "";
    size_t used = 0;
    for (uint32_t i = 0; row->from && topology->node_count > 1 && i < topology->node_count; i++) {
        uint32_t last = i;
        if (row->from[i] == 0)
            continue;
        while (last + 1 < topology->node_count && row->from[last + 1])
            last++;
        if (used > ENOUGH) {
            snprintf(text + used, sizeof text - used, ",...");
            break;
        }
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%d", used ? "," : "", topology->nodes[i].os_index);
        if (last > i)
            used += (size_t)snprintf(text + used, sizeof text - used, "-%d", topology->nodes[last].os_index);
        i = last;
    }
    table_cell(table, "%s", text);
}

const struct column line_columns[] = {
    {NULL, PAGE("id", 1), OF_ROW(INDEX, id)},
    {"function", PAGE("function", 2), NAME("line"), .cell = line_cell, OF_ROW(TEXT, name)},
    {"file", PAGE("file", 3), OF_ROW(TEXT_OR_NULL, file)},
    {"line", PAGE("line", 4), OF_ROW(LINE, line)},
    {"module", PAGE("module", 5), OF_ROW(TEXT, module)},
    {0},
};

const struct column line_more_columns[] = {
    {"objects", WORDS("object", 21), .cell = uses_cell, .put = put_uses},
    {"thread_count", HEADING("threads", 8, TABLE_RIGHT), .get = get_thread_count},
    {"threads", WORDS("used by", 22), .cell = row_users_cell, .put = row_users_put},
    {"from", HEADING("nodes", 9, TABLE_LEFT), .flags = COLUMN_NODES, .cell = from_cell, .get = get_from},
    {"homes", WORDS("memory on nodes", 24), .flags = COLUMN_NODES, .get = row_homes},
    {0},
};

const struct column source_columns[] = {
    {"line", HEADING("line", 20, TABLE_RIGHT), .flags = COLUMN_BARE, OF_ROW(LINE, line)},
    {"text", SOURCE("source"), .flags = COLUMN_BARE, OF_ROW(TEXT, text)},
    {0},
};

const struct column source_more_columns[] = {
    {"objects", WORDS("object", 19), .cell = uses_cell, .put = put_uses},
    {"threads", .put = row_users_put},
    {"from", .get = get_from},
    {"homes", .get = row_homes},
    {0},
};

static struct value get_writers(const struct rows *rows, const struct row *row)
{
    (void)rows;
    return (struct value){.type = VALUE_COUNT, .number = row_writers(row)};
}

const struct column type_columns[] = {
    {"type", NAME("type"), .cell = function_cell, OF_ROW(TEXT, name)},
    {"file", OF_ROW(TEXT_OR_NULL, file)},
    {"line", OF_ROW(LINE, line)},
    {"size", FIGURE("size", 20), OF_ROW(BYTES, size)},
    {"objects", FIGURE("objects", 21), OF_ROW(COUNT, count)},
    {"bytes", FIGURE("memory", 22), OF_ROW(BYTES, bytes)},
    {"hottest_field", WORDS("hottest field", 23), OF_ROW(TEXT_OR_ABSENT, text)},
    {0},
};

/* Where the line is short, a field's name stays, and its type is cut: `std::… cells;`. */
static void field_cell(struct table *table, const struct rows *rows, const struct row *row)
{
    enum { KEPT = 5 };
    (void)rows;
    table_cell(table, "%s", row->text);
    const char *dot = row->name ? strrchr(row->name, '.') : NULL, *name = dot ? dot + 1 : row->name, *at = NULL;
    size_t kept = strspn(row->text, " ") + KEPT;
    for (const char *next = row->text; name && *name && (next = strstr(next, name)); next++)
        at = next;
    if (at && (size_t)(at - row->text) > kept + 2)
        table_shorter(table, "%.*s%s %s", (int)kept, row->text, text_cut(), at);
}

const struct column field_columns[] = {
    {"field", OF_ROW(TEXT, name)},
    {"offset", HEADING("offset", 20, TABLE_RIGHT), OF_ROW(NUMBER, offset)},
    {"size", HEADING("size", 21, TABLE_RIGHT), OF_ROW(NUMBER, size)},
    {"text", SOURCE("type"), .flags = COLUMN_BARE, .cell = field_cell, OF_ROW(TEXT, text)},
    {0},
};

const struct column field_more_columns[] = {
    {"thread_count", HEADING("threads", 8, TABLE_RIGHT), .get = get_thread_count},
    {"writer_count", HEADING("writers", 9, TABLE_RIGHT), .get = get_writers},
    {"threads", .put = row_users_put},
    {"from", .get = get_from},
    {"homes", .get = row_homes},
    {0},
};
