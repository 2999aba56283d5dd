#include "page/container.h"

#include "base/array.h"

#include <errno.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "columns are written as they are in memory");

enum { VERSION = 1, ALIGNMENT = 8, HEAD = 16 };

static const struct {
    const char *name;
    size_t size;
} types[] = {[COLUMN_U8] = {"u8", 1},
             [COLUMN_U16] = {"u16", 2},
             [COLUMN_U32] = {"u32", 4},
             [COLUMN_F32] = {"f32", 4},
             [COLUMN_F64] = {"f64", 8}};

struct column {
    char *name;
    enum column_type type;
    size_t offset, count;
};

struct container {
    FILE *stream;
    char *text;
    size_t text_size;
    struct json *json;
    array_of(struct column) columns;
    array_of(uint8_t) area;
};

static size_t aligned(size_t size)
{
    return (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

struct container *container_new(void)
{
    struct container *container = mem_zalloc(sizeof *container);
    container->stream = open_memstream(&container->text, &container->text_size);
    if (!container->stream)
        abort(); /* as when memory runs out elsewhere */
    container->json = json_new_compact(container->stream);
    json_object(container->json, NULL);
    return container;
}

void container_free(struct container *container)
{
    if (!container)
        return;
    if (container->json)
        json_finish(container->json, NULL);
    if (container->stream)
        fclose(container->stream);
    array_each (&container->columns, struct column, column)
        free(column->name);
    array_free(&container->columns);
    array_free(&container->area);
    free(container->text);
    free(container);
}

struct json *container_json(struct container *container)
{
    return container->json;
}

void *container_column(struct container *container, const char *name, enum column_type type, size_t count)
{
    size_t offset = container->area.count, size = aligned(count * types[type].size);
    array_reserve(&container->area, offset + size + 1);
    memset(container->area.items + offset, 0, size);
    container->area.count += size;
    array_push(&container->columns,
               (struct column){.name = mem_strdup(name), .type = type, .offset = offset, .count = count});
    return container->area.items + offset;
}

void container_rows(struct container *container, const void *rows, size_t row_size, size_t count,
                    const struct container_field *fields, size_t field_count)
{
    for (const struct container_field *field = fields; field < fields + field_count; field++) {
        size_t size = types[field->type].size;
        uint8_t *column = container_column(container, field->name, field->type, count);
        const uint8_t *from = (const uint8_t *)rows + field->offset;
        for (size_t i = 0; i < count; i++)
            memcpy(column + i * size, from + i * row_size, size);
    }
}

static void put_columns(struct container *container)
{
    json_object(container->json, "columns");
    array_each (&container->columns, const struct column, column) {
        json_object(container->json, column->name);
        json_text(container->json, "type", types[column->type].name);
        json_number(container->json, "offset", column->offset);
        json_number(container->json, "count", column->count);
        json_end(container->json);
    }
    json_end(container->json);
}

int container_finish(struct container *container, struct container_bytes *bytes, struct error *err)
{
    put_columns(container);
    int failed = json_finish(container->json, err);
    container->json = NULL;
    if (failed == 0 && (fclose(container->stream) != 0 || container->text_size > UINT32_MAX))
        failed = error_set(err, -EFBIG, "the page's tables are too large");
    container->stream = NULL;
    if (failed == 0) {
        size_t json_size = container->text_size, padded = aligned(json_size);
        uint32_t head[4] = {0, VERSION, (uint32_t)json_size, 0};
        memcpy(head, "NLPG", 4);
        bytes->size = HEAD + padded + container->area.count;
        bytes->data = mem_zalloc(bytes->size);
        memcpy(bytes->data, head, sizeof head);
        memcpy(bytes->data + HEAD, container->text, json_size);
        if (container->area.count)
            memcpy(bytes->data + HEAD + padded, container->area.items, container->area.count);
    }
    container_free(container);
    return failed;
}
