/* view/table.h - aligned columns that fit the width. Cells are made safe for terminals here, once. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

struct table;

enum table_align {
    TABLE_RIGHT,
    TABLE_LEFT,          /* cut where there is no room */
    TABLE_FLEX,          /* left, and cut to what the others leave */
    TABLE_SOURCE,        /* likewise, cut at its end */
    TABLE_OPTIONAL = 16, /* with one of the others: dropped where there is no room, the last such column first */
};

struct table *table_new(void);
void table_column(struct table *table, const char *title, unsigned align);
void table_columns_of(struct table *table, unsigned align, const char *const *titles); /* titles, then NULL */
#define table_columns(table, align, ...) table_columns_of(table, align, (const char *const[]){__VA_ARGS__, NULL})
void table_cell(struct table *table, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* What stands in the last cell where its text would have to be cut. */
void table_shorter(struct table *table, const char *format, ...) __attribute__((format(printf, 2, 3)));
void table_hot(struct table *table); /* the last cell stands out where there are colours */

/* Prints with `indent` blanks before each line, and frees. A column without any text in its cells is not printed. */
void table_print(struct table *table, FILE *out, unsigned indent, unsigned width, bool color);
