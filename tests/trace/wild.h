/* tests/trace/wild.h - events with fields as wild as their rows allow. */
#ifndef NUMALENS_TESTS_TRACE_WILD_H
#define NUMALENS_TESTS_TRACE_WILD_H

#include "trace/event_rows.h"

#include <stdio.h>
#include <string.h>

enum { WILD_WORDS = 64 };

struct wild {
    uint64_t random;
    uint64_t words[WILD_WORDS];
    char text[40], other[40];
};

static inline uint64_t wild_number(struct wild *wild)
{
    wild->random ^= wild->random << 13;
    wild->random ^= wild->random >> 7;
    wild->random ^= wild->random << 17;
    return wild->random * 0x2545f4914f6cdd1du;
}

/* Small, middling and huge numbers alike. */
static inline uint64_t wild_value(struct wild *wild)
{
    uint64_t number = wild_number(wild);
    return number >> (wild_number(wild) % 64);
}

/* Many have something in common with the one before. */
static inline void wild_elements(struct wild *wild, struct event *event, const struct event_field *field)
{
    char *place = (char *)event + field->offset;
    unsigned most = field->most < WILD_WORDS ? field->most : WILD_WORDS;
    unsigned count = wild_number(wild) % 2 ? 2 : (unsigned)(wild_number(wild) % (most + 1u));
    event_field_set_count(event, field, count);
    switch (field->code) {
    case CODE_BYTES:
        for (unsigned i = 0; i < count; i++)
            place[i] = (char)wild_number(wild);
        break;
    default:
        for (unsigned i = 0; i < wild_number(wild) % (WILD_WORDS + 1); i++)
            wild->words[i] = wild_value(wild);
        *(const uint64_t **)(void *)place = wild->words;
        break;
    }
}

static inline void wild_field(struct wild *wild, struct event *event, const struct event_field *field)
{
    void *place = (char *)event + field->offset;
    if (field->code == CODE_TEXT) {
        *(const char **)place = wild_number(wild) % 2 ? wild->text : wild->other;
    } else if (field->code > CODE_TEXT) {
        wild_elements(wild, event, field);
    } else {
        uint64_t value = wild_value(wild);
        if (field->bits < 64)
            value &= (UINT64_C(1) << field->bits) - 1;
        if (field->is_signed && field->bits < 64 && value >> (field->bits - 1))
            value |= ~UINT64_C(0) << field->bits;
        if (wild_number(wild) % (field->code == CODE_REPEATED ? 2 : 8) == 0)
            value = 0;
        event_field_set(event, field, value);
    }
}

static inline struct event wild_event(struct wild *wild, unsigned kind)
{
    struct event event = {.time = wild_value(wild) >> 1, .kind = (uint8_t)kind};
    const struct event_row *row = event_row(kind);
    event.pid = 100 + (uint32_t)(wild_number(wild) % 3);
    event.tid = event.pid + (uint32_t)(wild_number(wild) % 4);
    snprintf(wild->text, sizeof wild->text, "text %llx", (unsigned long long)wild_value(wild));
    snprintf(wild->other, sizeof wild->other, "%.*s", (int)(wild_number(wild) % 20), "another text of some length");
    for (unsigned i = 0; i < row->field_count; i++)
        wild_field(wild, &event, &row->fields[i]);
    if (kind == EVENT_SAMPLE && !(event.sample.flags & SAMPLE_HAS_LATENCY))
        event.sample.latency = 0;
    return event;
}

#endif
