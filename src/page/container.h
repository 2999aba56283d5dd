/* page/container.h - what the page reads: one JSON object and typed columns behind it, in one run of bytes (docs/view.md).
 *
 * Columns are where a browser's typed arrays can view them without a copy: little-endian, each at a multiple of 8. */
#pragma once

#include "base/error.h"
#include "base/json.h"

#include <stddef.h>
#include <stdint.h>

enum column_type { COLUMN_U8, COLUMN_U16, COLUMN_U32, COLUMN_F32, COLUMN_F64 };

struct container;

struct container_bytes {
    uint8_t *data;
    size_t size;
};

struct container *container_new(void);
void container_free(struct container *container);

/* The open top-level object: put what there is, open nothing that is not ended. */
struct json *container_json(struct container *container);

/* Room for a column of `count` zeroes, to be filled before the next one is made. `name` may not be there yet. */
void *container_column(struct container *container, const char *name, enum column_type type, size_t count);

/* Columns of the members of rows, each of the column's own type. */
struct container_field {
    const char *name;
    enum column_type type;
    size_t offset;
};
void container_rows(struct container *container, const void *rows, size_t row_size, size_t count,
                    const struct container_field *fields, size_t field_count);

/* Ends and frees it. The caller frees the bytes. */
int container_finish(struct container *container, struct container_bytes *bytes, struct error *err);
