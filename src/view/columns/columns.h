/* view/columns/columns.h - what rows show, written once: each column with its names in JSON, page and text and its value.
 *
 * JSON has the columns in the order of the description. Text and page have orders of their own, by `at`; one without a place
 * comes last, in text before the name. docs/json.md and docs/view.md have what each means. A name or heading that is NULL is not shown there. Private to src/view and src/page. */
#pragma once

#include "base/json.h"
#include "view/report/rows.h"
#include "view/table.h"

/* What a value is: how programs get it; how people do. */
enum value_type {
    VALUE_ABSENT,         /* no field; an empty cell */
    VALUE_UNKNOWN,        /* null; `text` or "-" */
    VALUE_NUMBER,         /* a pid, an address: without separators */
    VALUE_INDEX,          /* likewise; for FLOW_NONE null in JSON, -1 in the page, an empty cell */
    VALUE_LINE,           /* likewise; for 0 null in JSON, an empty cell */
    VALUE_INTEGER,        /* `number` with a sign */
    VALUE_BOOL,           /* true; yes */
    VALUE_COUNT,          /* 12345; 12,345 */
    VALUE_BYTES,          /* 1572864; 1.5 MiB */
    VALUE_PART,           /* `number`; as a percentage of `of` */
    VALUE_SHARE,          /* `number` / `of`; as a percentage */
    VALUE_LATENCY,        /* `number`; with its unit */
    VALUE_MEAN,           /* `number` / `of`, a latency; with its unit */
    VALUE_TIME,           /* seconds since the start, null for UINT64_MAX; 12 ms */
    VALUE_SECONDS,        /* `real`; 12 ms */
    VALUE_RATE,           /* `real` bytes per second, at least so many with `of`; GB/s */
    VALUE_TEXT,           /* itself */
    VALUE_TEXT_OR_NULL,   /* null in JSON when it is empty */
    VALUE_TEXT_OR_ABSENT, /* no field when it is NULL */
    VALUE_NODES,          /* samples by home node: by number in JSON, by index in the page; percentages of `of` */
};

struct value {
    enum value_type type;
    uint64_t number, of;
    double real;
    const char *text;
    const uint64_t *counts; /* or NULL: none */
};

/* What a column's member is a member of. */
enum column_base { BASE_ROW, BASE_OBJECT, BASE_SITE, BASE_THREAD, BASE_PROCESS, BASE_GROUP };

enum column_flags {
    COLUMN_NODES = 1, /* in text only where there are several nodes */
    COLUMN_HOT = 2,   /* stands out where most of a row is remote */
    COLUMN_BARE = 4,  /* also of rows without figures */
};

struct column {
    const char *json;
    struct {
        const char *name;
        uint8_t at;
    } page, site_page; /* site_page: in the page's table of sites; `page` in all others */
    struct {
        const char *heading;
        uint8_t at, align; /* align: enum table_align */
    } text;
    uint16_t tables; /* a bit for each in whose text it is; 0: in all */
    uint8_t flags;
    uint8_t fact; /* not 0: it is the fact before that of enum fact_index */
    uint8_t type, base, width;
    uint16_t offset, of, all; /* of: what it is a part of, a member beside it; all: likewise, of struct rows */
    /* Where they are not NULL: instead of a member; instead of the value in text; and in JSON. */
    struct value (*get)(const struct rows *rows, const struct row *row);
    void (*cell)(struct table *table, const struct rows *rows, const struct row *row);
    void (*put)(struct json *json, const struct rows *rows, const struct row *row);
};

/* How descriptions are written: {JSON's name or NULL, PAGE, SITE, a heading, the value}. A place of 0 is the last one. */
#define PAGE(title, place)         .page = {title, place}
#define SITE(title, place)         .site_page = {title, place}
#define HEADING(title, place, how) .text = {title, place, how}
#define FIGURE(title, place)       HEADING(title, place, TABLE_RIGHT | TABLE_OPTIONAL)
#define WORDS(title, place)        HEADING(title, place, TABLE_LEFT | TABLE_OPTIONAL)
#define NAME(title)                HEADING(title, 0, TABLE_FLEX)
#define SOURCE(title)              HEADING(title, 0, TABLE_SOURCE)
#define ONLY(table)                .tables = 1u << VIEW_##table
#define PROGRAMS                   .tables = 1u << VIEW_PROCESSES | 1u << VIEW_GROUPS
#define OTHER_TABLES               (0xffff & ~(1u << VIEW_PROCESSES | 1u << VIEW_GROUPS))
#define OTHERS                     .tables = OTHER_TABLES
#define NO_SOURCE                  .tables = 0xffff & ~(1u << VIEW_SOURCE)
#define MEMBER(kind, from, structure, member)                                                                          \
    .type = VALUE_##kind, .base = from, .width = sizeof(((structure *)NULL)->member),                                  \
    .offset = offsetof(structure, member)
#define OF_ROW(kind, member)       MEMBER(kind, BASE_ROW, struct row, member)
#define OF_OBJECT(kind, member)    MEMBER(kind, BASE_OBJECT, struct flow_object, member)
#define OF_SITE(kind, member)      MEMBER(kind, BASE_SITE, struct flow_site, member)
#define OF_THREAD(kind, member)    MEMBER(kind, BASE_THREAD, struct flow_thread, member)
#define OF_PROCESS(kind, member)   MEMBER(kind, BASE_PROCESS, struct flow_process, member)
#define OF_GROUP(kind, member)     MEMBER(kind, BASE_GROUP, struct flow_group, member)
#define RATIO(kind, member, whole) OF_ROW(kind, totals.member), .of = offsetof(struct row, totals.whole)
#define OF_ALL(kind, member)       OF_ROW(kind, totals.member), .all = offsetof(struct rows, member)

/* The descriptions: object_columns.c, process_columns.c, row_columns.c, code_columns.c. One ends with a column without any name. */
extern const struct column object_columns[], object_more_columns[], facts_columns[];
extern const struct column thread_columns[], thread_more_columns[], function_columns[];
extern const struct column line_columns[], line_more_columns[], source_columns[], source_more_columns[];
extern const struct column type_columns[], field_columns[], field_more_columns[];
extern const struct column process_columns[], process_more_columns[], group_columns[];
extern const struct column totals_columns[], life_columns[];
void row_users_cell(struct table *table, const struct rows *rows, const struct row *row); /* who uses it most */
void row_users_put(struct json *json, const struct rows *rows, const struct row *row);
struct value row_homes(const struct rows *rows, const struct row *row); /* by home node */

/* Those of a table one after the other, up to a NULL; whether a description ends. */
const struct column *const *columns_of(enum view_table table);
bool column_is_end(const struct column *column);

/* Columns of a table in one renderer's order; the page's with `more` that it alone has, up to a NULL. */
enum { MOST_COLUMNS = 80 };
struct column_list {
    const struct column *items[MOST_COLUMNS];
    unsigned count;
};

struct column_list columns_text(enum view_table table);
struct column_list columns_page(enum view_table table, const struct column *const *more);
const char *column_page_name(const struct column *column, enum view_table table);

struct value column_value(const struct column *column, const struct rows *rows, const struct row *row);

/* What the facts are of, or NULL where there are none. */
const struct facts_subject *row_subject(const struct rows *rows, const struct row *row);

/* The renderers; the page's is page/parts/put.h. Fields go into the open object. */
void columns_print(const struct rows *rows, const struct view_options *options, unsigned indent, FILE *out);
void columns_put_row(struct json *json, const struct rows *rows, const struct row *row);
void value_put(struct json *json, const char *key, const struct value *value, const struct flow *flow);
