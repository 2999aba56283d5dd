/* page/lines.c - cache lines that several threads use, within the objects they lie in (l.*). */
#include "page/parts.h"

enum { LINE_TRULY = 1, LINE_FALSELY = 2 };

struct line_row {
    const struct facts_line *line;
    uint32_t object;
    double offset;
};

void lines_put(const struct parts *parts, struct container *container)
{
    const struct facts *facts = parts->facts;
    struct line_row *rows = mem_alloc((facts->lines.count + 1) * sizeof *rows);
    size_t count = 0;
    array_each (&facts->lines, const struct facts_line, line) {
        uint32_t object = rank_of(&parts->objects, line->object);
        if (object == FLOW_NONE)
            continue;
        /* A line may begin before the object does. */
        double offset = (double)line->addr - (double)flow_object(parts->flow, line->object)->addr;
        rows[count++] = (struct line_row){line, object, offset};
    }
    uint32_t *column = container_column(container, "l.object", COLUMN_U32, count);
    for (size_t i = 0; i < count; i++)
        column[i] = rows[i].object;
    double *wide = container_column(container, "l.line", COLUMN_F64, count);
    for (size_t i = 0; i < count; i++)
        wide[i] = rows[i].offset;
    uint16_t *narrow = container_column(container, "l.thread", COLUMN_U16, count);
    for (size_t i = 0; i < count; i++)
        narrow[i] = parts_thread(rows[i].line->thread);
    column = container_column(container, "l.reads", COLUMN_U32, count);
    for (size_t i = 0; i < count; i++)
        column[i] = rows[i].line->reads;
    column = container_column(container, "l.writes", COLUMN_U32, count);
    for (size_t i = 0; i < count; i++)
        column[i] = rows[i].line->writes;
    /* Bytes 0 to 31 and 32 to 63 of the line, a bit for each that was used. */
    column = container_column(container, "l.bytes_low", COLUMN_U32, count);
    for (size_t i = 0; i < count; i++)
        column[i] = (uint32_t)rows[i].line->bytes;
    column = container_column(container, "l.bytes_high", COLUMN_U32, count);
    for (size_t i = 0; i < count; i++)
        column[i] = (uint32_t)(rows[i].line->bytes >> 32);
    uint8_t *shared = container_column(container, "l.shared", COLUMN_U8, count);
    for (size_t i = 0; i < count; i++)
        shared[i] = rows[i].line->truly ? LINE_TRULY : rows[i].line->falsely ? LINE_FALSELY : 0;
    free(rows);
}
