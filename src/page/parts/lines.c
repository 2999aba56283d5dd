/* page/parts/lines.c - cache lines that several threads use, within the objects they are in (l.*). */
#include "page/parts/parts.h"

enum { LINE_TRULY = 1, LINE_FALSELY = 2 };

struct line_row {
    double offset; /* in the object; a line may begin before the object does */
    uint32_t object;
    uint32_t reads, writes;
    uint32_t bytes_low, bytes_high; /* bytes 0 to 31 and 32 to 63 of the line, a bit for each that was used */
    uint16_t thread;
    uint8_t shared;
};

void lines_put(const struct parts *parts, struct container *container)
{
    static const struct container_field fields[] = {
        {"l.object", COLUMN_U32, offsetof(struct line_row, object)},
        {"l.line", COLUMN_F64, offsetof(struct line_row, offset)},
        {"l.thread", COLUMN_U16, offsetof(struct line_row, thread)},
        {"l.reads", COLUMN_U32, offsetof(struct line_row, reads)},
        {"l.writes", COLUMN_U32, offsetof(struct line_row, writes)},
        {"l.bytes_low", COLUMN_U32, offsetof(struct line_row, bytes_low)},
        {"l.bytes_high", COLUMN_U32, offsetof(struct line_row, bytes_high)},
        {"l.shared", COLUMN_U8, offsetof(struct line_row, shared)},
    };
    const struct facts *facts = parts->facts;
    struct line_row *rows = mem_alloc((facts->lines.count + 1) * sizeof *rows);
    size_t count = 0;
    array_each (&facts->lines, const struct facts_line, line) {
        uint32_t object = rank_of(&parts->objects, line->object);
        if (object == FLOW_NONE)
            continue;
        rows[count++] =
            (struct line_row){.offset = (double)line->addr - (double)flow_object(parts->flow, line->object)->addr,
                              .object = object,
                              .reads = line->reads,
                              .writes = line->writes,
                              .bytes_low = (uint32_t)line->bytes,
                              .bytes_high = (uint32_t)(line->bytes >> 32),
                              .thread = parts_thread(line->thread),
                              .shared = line->truly     ? LINE_TRULY
                                        : line->falsely ? LINE_FALSELY
                                                        : 0};
    }
    container_rows(container, rows, sizeof *rows, count, fields, sizeof fields / sizeof *fields);
    free(rows);
}
