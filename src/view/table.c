#include "view/table.h"

#include "base/array.h"
#include "base/text.h"

#include <stdarg.h>
#include <string.h>

enum { MAX_COLUMNS = 16, GAP = 2, GOOD_FLEX = 48, MIN_FLEX = 16, GOOD_LEFT = 24, LEAST = 8 };

struct cell {
    char *text;
    char *shorter; /* or NULL */
    bool hot;
};

struct table {
    struct {
        const char *title;
        unsigned align;
        size_t width;
        bool used, optional;
    } columns[MAX_COLUMNS];
    unsigned column_count;
    array_of(struct cell) cells;
};

struct table *table_new(void)
{
    return mem_zalloc(sizeof(struct table));
}

void table_column(struct table *table, const char *title, unsigned align)
{
    if (table->column_count == MAX_COLUMNS)
        abort();
    table->columns[table->column_count].title = title;
    table->columns[table->column_count].optional = align & TABLE_OPTIONAL;
    table->columns[table->column_count++].align = align & ~(unsigned)TABLE_OPTIONAL;
}

void table_columns_of(struct table *table, unsigned align, const char *const *titles)
{
    for (; *titles; titles++)
        table_column(table, *titles, align);
}

void table_cell(struct table *table, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    array_push(&table->cells, (struct cell){.text = text_safe_format(format, args)});
    va_end(args);
}

void table_shorter(struct table *table, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (table->cells.count)
        table->cells.items[table->cells.count - 1].shorter = text_safe_format(format, args);
    va_end(args);
}

void table_hot(struct table *table)
{
    if (table->cells.count)
        table->cells.items[table->cells.count - 1].hot = true;
}

static bool is_flexible(const struct table *table, unsigned column)
{
    return table->columns[column].align == TABLE_FLEX || table->columns[column].align == TABLE_SOURCE;
}

/* What all columns but the flexible one take. */
static size_t fixed_width(const struct table *table, unsigned indent)
{
    size_t fixed = indent;
    for (unsigned i = 0; i < table->column_count; i++) {
        if (table->columns[i].used && !is_flexible(table, i))
            fixed += table->columns[i].width + GAP;
    }
    return fixed;
}

static bool drop_optional(struct table *table)
{
    for (unsigned i = table->column_count; i-- > 0;) {
        if (table->columns[i].used && table->columns[i].optional) {
            table->columns[i].used = false;
            return true;
        }
    }
    return false;
}

/* The room that a column's cells need so that none is cut: the shorter text of each, where it has one; source is to stand as it is. */
static size_t min_width(const struct table *table, unsigned column)
{
    size_t needed = 0;
    bool is_source = table->columns[column].align == TABLE_SOURCE;
    for (size_t i = column; i < table->cells.count; i += table->column_count) {
        const struct cell *cell = &table->cells.items[i];
        size_t width = text_width(cell->text), shorter = cell->shorter ? text_width(cell->shorter) : width;
        width = shorter < width && !is_source ? shorter : width;
        needed = width > needed ? width : needed;
    }
    return needed;
}

/* Cuts left columns to `narrowest`, the last one first, as far as lines are wider than `width`. */
static void cut_left(struct table *table, unsigned indent, size_t flex, unsigned width, size_t narrowest)
{
    for (unsigned i = table->column_count; i-- > 0;) {
        size_t *own = &table->columns[i].width, all = fixed_width(table, indent) + flex - (flex ? 0 : GAP);
        if (!table->columns[i].used || table->columns[i].align != TABLE_LEFT || all <= width || *own <= narrowest)
            continue;
        *own = *own - narrowest > all - width ? *own - (all - width) : narrowest;
    }
}

static void measure(struct table *table, unsigned indent, unsigned width)
{
    for (unsigned i = 0; i < table->column_count; i++)
        table->columns[i].width = text_width(table->columns[i].title);
    for (size_t i = 0; i < table->cells.count; i++) {
        size_t cell = text_width(table->cells.items[i].text);
        size_t *column = &table->columns[i % table->column_count].width;
        *column = cell > *column ? cell : *column;
        table->columns[i % table->column_count].used |= cell > 0;
    }
    int flex = -1;
    for (unsigned i = 0; i < table->column_count; i++) {
        if (table->columns[i].used && is_flexible(table, i))
            flex = (int)i;
    }
    if (width == 0)
        return;
    for (unsigned i = table->column_count; i-- > 0;)
        if (table->columns[i].align == TABLE_RIGHT && fixed_width(table, indent) + MIN_FLEX > width) {
            size_t title = text_width(table->columns[i].title), narrowest = min_width(table, i);
            table->columns[i].width = title > narrowest ? title : narrowest;
        }
    size_t wanted = flex < 0 ? 0 : min_width(table, (unsigned)flex);
    wanted = wanted < GOOD_FLEX ? wanted : GOOD_FLEX;
    cut_left(table, indent, wanted, width, GOOD_LEFT);
    while (fixed_width(table, indent) + wanted > width && drop_optional(table))
        ;
    cut_left(table, indent, wanted < MIN_FLEX ? wanted : MIN_FLEX, width, LEAST);
    size_t fixed = fixed_width(table, indent);
    size_t room = width > fixed + LEAST ? width - fixed : LEAST;
    if (flex >= 0 && table->columns[flex].width > room)
        table->columns[flex].width = room;
}

/* The first `width` columns of a text. */
static char *keep_start(const char *text, size_t width)
{
    char *start = mem_strdup(text);
    size_t end = strlen(start);
    while (end > 0 && text_width(start) > width) {
        do
            end--;
        while (end > 0 && ((unsigned char)start[end] & 0xc0) == 0x80);
        start[end] = '\0';
    }
    return start;
}

static char *fit_start(const char *text, size_t width)
{
    if (text_width(text) <= width || width == 0)
        return mem_strdup(text);
    char *start = keep_start(text, width - 1), *fit = mem_format("%s%s", start, text_cut());
    free(start);
    return fit;
}

/* The end of "chunk%tiles(tile)%field%vol_flux_x" from a member on that fits, as what comes last says most; NULL when it is no such chain,
 * or no member fits. */
static char *keep_members(const char *name, size_t width)
{
    static const char *const joins[] = {"%", ".", "->", "::"};
    if (strchr(name, ' '))
        return NULL;
    for (const char *at = name; *at; at++)
        for (size_t i = 0; i < sizeof joins / sizeof *joins; i++) {
            const char *member = at + strlen(joins[i]);
            if (strncmp(at, joins[i], strlen(joins[i])) == 0 && *member && text_width(member) < width)
                return mem_format("%s%s", text_cut(), member);
        }
    return NULL;
}

/* Cuts a name so that it still says what it is: what stands in the last brackets, a file and line, stays whole. */
static char *fit_name(const char *text, size_t width)
{
    const char *place = strrchr(text, '(');
    size_t tail = place ? text_width(place) : 0;
    if (text_width(text) <= width || !place || tail + MIN_FLEX / 2 > width)
        return text_fit(text, width);
    char *whole = mem_format("%.*s", (int)(place - text), text), *end = keep_members(whole, width - tail);
    char *start = keep_start(whole, width - tail - 1);
    char *fit = end ? mem_format("%s%s", end, place) : mem_format("%s%s%s", start, text_cut(), place);
    free(whole);
    free(start);
    free(end);
    return fit;
}

static void put(const struct table *table, unsigned column, const char *text, bool last, FILE *out, const char *on,
                const char *off)
{
    size_t width = table->columns[column].width;
    unsigned align = table->columns[column].align;
    char *fit = align == TABLE_FLEX     ? fit_name(text, width)
                : align == TABLE_SOURCE ? fit_start(text, width)
                                        : text_fit(text, width);
    size_t pad = width - text_width(fit);
    bool right = table->columns[column].align == TABLE_RIGHT;
    fprintf(out, "%*s%s%s%s", right ? (int)pad : 0, "", on, fit, off);
    if (!last)
        fprintf(out, "%*s", (right ? 0 : (int)pad) + GAP, "");
    free(fit);
}

static void put_line(const struct table *table, const struct cell *cells, FILE *out, unsigned indent, bool color)
{
    unsigned last = 0;
    for (unsigned i = 0; i < table->column_count; i++)
        last = table->columns[i].used ? i : last;
    fprintf(out, "%*s", (int)indent, "");
    for (unsigned i = 0; i < table->column_count; i++) {
        if (!table->columns[i].used)
            continue;
        const char *on = !cells ? "\033[2m" : cells[i].hot ? "\033[1;31m" : "";
        const char *text = cells ? cells[i].text : table->columns[i].title;
        if (cells && cells[i].shorter && text_width(text) > table->columns[i].width)
            text = cells[i].shorter;
        put(table, i, text, i == last, out, color ? on : "", color && *on ? "\033[0m" : "");
    }
    fputc('\n', out);
}

void table_print(struct table *table, FILE *out, unsigned indent, unsigned width, bool color)
{
    measure(table, indent, width);
    bool titled = false;
    for (unsigned i = 0; i < table->column_count; i++)
        titled |= *table->columns[i].title != '\0';
    if (titled && table->cells.count)
        put_line(table, NULL, out, indent, color);
    for (size_t i = 0; i + table->column_count <= table->cells.count; i += table->column_count)
        put_line(table, table->cells.items + i, out, indent, color);
    array_each (&table->cells, struct cell, cell) {
        free(cell->text);
        free(cell->shorter);
    }
    array_free(&table->cells);
    free(table);
}
