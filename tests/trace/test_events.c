/* The table of events: what follows from a row for every kind alike. */
#include "base/mem.h"
#include "trace/event_copy.h"
#include "trace/event_text.h"
#include "trace/redact.h"
#include "trace/run.h"
#include "trace/varint.h"
#include "wild.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

static char *text_of(const struct event *event)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    event_print(out, event);
    fclose(out);
    return text;
}

/* Of one value: a repeated one has its times beside it, a difference is a bit longer. */
static unsigned most_bytes(const struct event_field *field, unsigned bits)
{
    switch (field->code) {
    case CODE_ADDRESS:
    case CODE_RELATIVE:
        return VARINT_MAX;
    case CODE_REPEATED:
        return (bits + 6) / 7 + 5;
    default:
        return bits >= 64 ? VARINT_MAX : (bits + 1 + 6) / 7;
    }
}

static void rows_fit_their_columns(void **state)
{
    (void)state;
    assert_null(event_row(0));
    assert_null(event_row(EVENT_KINDS));
    for (unsigned kind = 1; kind < EVENT_KINDS; kind++) {
        const struct event_row *row = event_row(kind);
        unsigned bytes[TRACE_MAX_COLUMNS + 1] = {VARINT_MAX};
        assert_non_null(row);
        assert_true(row->columns <= TRACE_MAX_COLUMNS);
        assert_true(row->columns == 0 || row->decode);
        for (unsigned i = 0; row->encode && i < row->field_count; i++) {
            const struct event_field *field = &row->fields[i];
            unsigned bits = field->bits;
            assert_in_range(field->column, 1, row->columns - 1u);
            while (i + 1 < row->field_count && row->fields[i + 1].code == CODE_PART)
                bits += row->fields[++i].bits;
            assert_true(bits <= 64);
            if (field->code <= CODE_REPEATED || field->code == CODE_RELATIVE)
                bytes[field->column] += most_bytes(field, bits);
            assert_true(field->code != CODE_FRAMES || field->column + 1 < row->columns);
            assert_true(bytes[field->column] <= RUN_ROOM);
        }
    }
}

/* Numbers as large as they can be: a field that is narrower refuses them, so that nothing is cut. */
static void numbers_beyond_a_field_are_refused(void **state)
{
    (void)state;
    enum { NUMBERS = 40 };
    uint8_t bytes[NUMBERS * VARINT_MAX], *at = bytes;
    for (unsigned i = 0; i < NUMBERS; i++)
        at = varint_put(at, UINT64_MAX - 1);
    for (unsigned kind = 1; kind < EVENT_KINDS; kind++) {
        const struct event_row *row = event_row(kind);
        bool narrow = false;
        for (unsigned i = 0; i < row->field_count; i++)
            narrow = narrow || row->fields[i].bits < 64;
        if (!row->encode || !narrow)
            continue;
        struct run_cursor cursor = {.kind = (uint8_t)kind, .words = mem_zalloc(TRACE_MAX_FRAMES * sizeof(uint64_t))};
        struct event event;
        for (unsigned column = 0; column < row->columns; column++) {
            cursor.at[column] = bytes;
            cursor.end[column] = at;
        }
        assert_false(run_cursor_event(&cursor, &event));
        free(cursor.words);
    }
}

static void copies_are_equal_and_apart(void **state)
{
    (void)state;
    struct wild wild = {.random = 11};
    for (unsigned i = 0; i < 5000; i++) {
        struct event event = wild_event(&wild, 1 + i % (EVENT_KINDS - 1));
        struct event copy = event_copy(&event);
        char *before = text_of(&event), *after;
        wild_event(&wild, EVENT_PROCESS_START); /* overwrites the texts */
        memset(wild.words, 0, sizeof wild.words);
        after = text_of(&copy);
        assert_string_equal(before, after);
        event_copy_free(&copy);
        free(before);
        free(after);
    }
}

/* A struct from a ring is the target's: counts are bounded, and kinds with pointers are not taken. */
static void rings_are_not_trusted(void **state)
{
    (void)state;
    struct event event;
    uint8_t bytes[sizeof(struct event)];
    memset(bytes, 0xff, sizeof bytes);
    for (unsigned kind = 0; kind < EVENT_KINDS + 2; kind++) {
        const struct event_row *row = event_row(kind);
        bool may = row && row->ring_bytes;
        for (unsigned i = 0; may && i < row->field_count; i++)
            assert_true(row->fields[i].code != CODE_TEXT && !event_field_has_words(&row->fields[i]));
        assert_false(event_from_ring(&event, kind, bytes, may ? row->ring_bytes - 1u : sizeof bytes));
    }
    assert_true(event_from_ring(&event, EVENT_REUSE, bytes, sizeof(struct event_reuse)));
    assert_int_equal(event.kind, EVENT_REUSE);
    assert_int_equal(event.reuse.bin, UINT16_MAX);
}

static void text_has_every_field(void **state)
{
    (void)state;
    uint64_t frames[] = {0x10, 0x20};
    struct event event = {.time = 5, .pid = 6, .tid = 7, .kind = EVENT_STACK};
    event.stack = (struct event_stack){.id = 9, .depth = 2, .cut = 1, .frames = frames};
    char *text = text_of(&event);
    assert_string_equal(text, "stack time=5 pid=6 tid=7 id=9 cut=1 frames=0x10,0x20");
    free(text);
    event = (struct event){.kind = EVENT_HOME, .home = {0x7000, 4096, -2}};
    text = text_of(&event);
    assert_string_equal(text, "home time=0 pid=0 tid=0 page=0x7000 size=4096 node=-2");
    free(text);
}

/* A text of a row that nobody thought of is redacted too. */
static void no_text_survives_redaction(void **state)
{
    (void)state;
    static const char secret[] = "/srv/somebody/secret";
    unsigned texts = 0;
    for (unsigned kind = 1; kind < EVENT_KINDS; kind++) {
        const struct event_row *row = event_row(kind);
        struct event event = {.kind = (uint8_t)kind};
        struct redacted redacted;
        unsigned of_event = 0;
        for (unsigned i = 0; i < row->field_count; i++)
            if (row->fields[i].code == CODE_TEXT && ++of_event)
                *(const char **)(void *)((char *)&event + row->fields[i].offset) = secret;
        assert_in_range(of_event, 0, sizeof redacted.texts / sizeof *redacted.texts);
        char *text = text_of(redact_event(&redacted, &event));
        assert_null(strstr(text, "somebody"));
        assert_null(strstr(text, "secret"));
        free(text);
        texts += of_event;
    }
    assert_in_range(texts, 8, UINT8_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_fit_their_columns),     cmocka_unit_test(numbers_beyond_a_field_are_refused),
        cmocka_unit_test(copies_are_equal_and_apart), cmocka_unit_test(rings_are_not_trusted),
        cmocka_unit_test(text_has_every_field),       cmocka_unit_test(no_text_survives_redaction),
    };
    return cmocka_run_group_tests_name("events", tests, NULL, NULL);
}
