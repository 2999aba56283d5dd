/* exchange/export/fields.h - what can be said of one sample, field by field: for text and CSV. */
#pragma once

#include "exchange/export/emitter.h"
#include "exchange/export/names.h"

enum { FIELDS_MOST = 64 };

struct field;

/* The fields that were asked for, in their order. */
struct fields {
    const struct field *items[FIELDS_MOST];
    unsigned count;
};

/* "time,tid,addr"; NULL for the usual ones. -EINVAL with the list of all of them for one that does not exist. */
int fields_parse(struct fields *fields, const char *text, struct error *err);

const char *field_name(const struct field *field);
const char *field_help(const struct field *field);
const struct field *field_at(unsigned index); /* all there are; NULL behind the last */

struct fields_writer {
    const struct flow *flow;
    struct names *names;
    struct emit *emit;
    const char *unknown;                                   /* stands for a value that is not known: "-", or nothing */
    void (*put_name)(struct emit *emit, const char *text); /* for texts of the program */
};

void field_put(const struct fields_writer *writer, const struct field *field, const struct flow_access *access);
