#include "trace/event_copy.h"

#include "base/mem.h"
#include "trace/event_rows.h"

#include <stdlib.h>

static void copy_words(struct event *copy, const struct event_field *field, const uint64_t **place)
{
    unsigned count = event_field_count(copy, field);
    uint64_t *words = mem_alloc((count + 1) * sizeof *words);
    if (count)
        memcpy(words, *place, count * sizeof *words);
    *place = words;
    event_field_set_count(copy, field, count);
}

struct event event_copy(const struct event *event)
{
    struct event copy = *event;
    const struct event_row *row = event_row(copy.kind);
    for (unsigned i = 0; row && i < row->field_count; i++) {
        const struct event_field *field = &row->fields[i];
        void *place = (char *)&copy + field->offset;
        if (field->code == CODE_TEXT)
            *(char **)place = mem_strdup(*(char **)place ? *(char **)place : "");
        else if (event_field_has_words(field))
            copy_words(&copy, field, place);
    }
    return copy;
}

void event_copy_free(struct event *event)
{
    const struct event_row *row = event_row(event->kind);
    for (unsigned i = 0; row && i < row->field_count; i++) {
        const struct event_field *field = &row->fields[i];
        void *place = (char *)event + field->offset;
        if (field->code == CODE_TEXT || event_field_has_words(field))
            free(*(void **)place);
    }
}

bool event_from_ring(struct event *event, unsigned kind, const void *bytes, size_t size)
{
    const struct event_row *row = event_row(kind);
    if (!row || row->ring_bytes == 0 || size < row->ring_bytes)
        return false;
    *event = (struct event){.kind = (uint8_t)kind};
    memcpy((char *)event + offsetof(struct event, process), bytes, row->ring_bytes);
    for (unsigned i = 0; i < row->field_count; i++) {
        const struct event_field *field = &row->fields[i];
        if (field->code > CODE_TEXT)
            event_field_set_count(event, field, event_field_count(event, field));
        else if (!event_field_set(event, field, event_field_get(event, field)))
            return false;
    }
    return true;
}
