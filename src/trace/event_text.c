#include "trace/event_text.h"

#include "base/text.h"
#include "trace/event_rows.h"

#include <inttypes.h>
#include <stdlib.h>

static void print_elements(FILE *out, const struct event *event, const struct event_field *field)
{
    const void *place = event_field_place(event, field);
    unsigned count = event_field_count(event, field);
    for (unsigned i = 0; i < count; i++) {
        if (field->code == CODE_BYTES)
            fprintf(out, "%02x", ((const uint8_t *)place)[i]);
        else
            fprintf(out, "%s0x%" PRIx64, i ? "," : "", (*(const uint64_t *const *)place)[i]);
    }
}

static void print_field(FILE *out, const struct event *event, const struct event_field *field)
{
    const char *dot = strchr(field->name, '.');
    fprintf(out, " %s=", dot ? dot + 1 : field->name);
    if (field->code == CODE_TEXT) {
        const char *text = *(const char *const *)event_field_place(event, field);
        char *safe = text_safe(text ? text : "");
        fputs(safe, out);
        free(safe);
    } else if (field->code > CODE_TEXT) {
        print_elements(out, event, field);
    } else if (field->code == CODE_ADDRESS || field->code == CODE_RELATIVE) {
        fprintf(out, "0x%" PRIx64, event_field_get(event, field));
    } else if (field->is_signed) {
        fprintf(out, "%" PRId64, (int64_t)event_field_get(event, field));
    } else {
        fprintf(out, "%" PRIu64, event_field_get(event, field));
    }
}

void event_print(FILE *out, const struct event *event)
{
    const struct event_row *row = event_row(event->kind);
    fprintf(out, "%s time=%" PRIu64 " pid=%" PRIu32 " tid=%" PRIu32, row ? row->name : "unknown", event->time,
            event->pid, event->tid);
    for (unsigned i = 0; row && i < row->field_count; i++)
        print_field(out, event, &row->fields[i]);
}
