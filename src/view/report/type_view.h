/* view/report/type_view.h - types and how their fields are used. Private to src/view and src/page. */
#pragma once

#include "analysis/types/object_types.h"
#include "base/units.h"
#include "view/report/rows.h"

struct type_use { /* one type */
    const struct symbol_type *type;
    struct rows fields;     /* a row for each field, in their order, and a last one for padding and the whole */
    uint32_t aligned;       /* objects whose items begin at cache lines and fill them */
    uint32_t objects, many; /* objects; those with several items */
    uint64_t *falsely;      /* by field: uses of it on falsely shared lines */
    uint64_t false_lines;
};

struct type_uses {
    struct rows rows; /* of VIEW_TYPES: row.id is the index in `items` */
    array_of(struct type_use) items;
    uint32_t *of_object; /* by the number of a sampled object: the index of its type, or FLOW_NONE */
    uint64_t unknown;    /* samples of objects whose type is not known */
};

/* `traffic`, or NULL, must outlive them. */
int type_uses_make(struct type_uses *uses, const struct flow *flow, const struct facts *facts, struct traffic *traffic,
                   struct error *err);
void type_uses_sort(struct type_uses *uses); /* its rows, most samples first */
void type_uses_free(struct type_uses *uses);

/* type_advice.c: what to change, as a sentence and code; the caller frees both. How many there are: 2 at most. */
struct type_advice {
    char *text, *code;
};
size_t type_advise(const struct type_use *use, const struct row *whole, struct type_advice advice[2]);

struct json;
void type_advice_put(const struct type_use *use, const struct row *whole, struct json *json); /* "advice" */
