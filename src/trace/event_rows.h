/* trace/event_rows.h - every kind of event as one row: its name, what later files repeat of it, its columns and its fields.
 *
 * What handles events of any kind goes by the rows: coding and decoding with range checks (trace/event_code.h), copies
 * (trace/event_copy.h), text (trace/event_text.h), windows of time (trace/reader.c), rotation (capture/rotate). A new event is a struct in wire/event.h and a row in event_rows.c. */
#pragma once

#include "wire/event.h"

#include <stddef.h>
#include <string.h>

struct run_cursor;
struct trace_run;

/* How a field is coded in its column. */
enum event_code {
    CODE_NUMBER,     /* varint; zigzag when the field is signed */
    CODE_PART,       /* of the number before it: the bits above */
    CODE_DIFFERENCE, /* zigzag varint of the difference to the column's last value */
    CODE_ADDRESS,    /* likewise; an address, rotated right by the bits that are 0 in most */
    CODE_REPEATED,   /* varint value and varint times, for so many events */
    CODE_RELATIVE,   /* zigzag varint of the difference to the field `other` of the same event */
    CODE_TEXT,       /* with its NUL */
    CODE_BYTES,      /* varint count, the bytes; the count is in the field `other` */
    CODE_FRAMES, /* varint count, varint how many of the outermost are the last event's; the rest in the next column */
    CODE_MASK,   /* varint 0 for the last event's words, else varint count + 1 and each word */
};

struct event_field {
    uint8_t code;
    uint8_t column;
    uint8_t bytes, bits; /* in the struct; that a value may have */
    bool is_signed;
    uint8_t rotate;       /* of addresses: by so many bits */
    uint16_t offset;      /* in struct event */
    uint16_t other, most; /* another field's offset; how many elements there may be */
    const char *name;     /* as C names it: "touch.addr" */
};

enum event_carry {
    CARRY_NONE, /* stays in the file that it came into; a window of time skips it */
    CARRY_LIVE, /* repeated in later files while it matters: capture/rotate has the rules of each kind */
    CARRY_ALL,  /* every one is repeated in every later file of its run */
};

struct event_row {
    const char *name;
    enum event_carry carry;
    uint8_t columns; /* of its blocks, with the time */
    uint8_t field_count;
    uint16_t ring_bytes; /* of its struct, when the agent may write it as WIRE_EVENT; else 0 */
    const struct event_field *fields;
    void (*encode)(struct trace_run *run, const struct event *event);
    bool (*decode)(struct run_cursor *cursor, struct event *event); /* false when the bytes are no such event */
};

extern const struct event_row event_rows[EVENT_KINDS];

/* The row of a kind, or NULL when there is no such kind. */
static inline const struct event_row *event_row(unsigned kind)
{
    return kind < EVENT_KINDS && event_rows[kind].name ? &event_rows[kind] : NULL;
}

/* Whether its coding needs the words (frames, or a mask) of the event before. */
bool event_keeps_words(unsigned kind);

/* Whether the member is a pointer to 64-bit words. */
static inline bool event_field_has_words(const struct event_field *field)
{
    return field->code == CODE_FRAMES || field->code == CODE_MASK;
}

static inline const void *event_field_place(const struct event *event, const struct event_field *field)
{
    return (const char *)event + field->offset;
}

/* A signed value is extended to 64 bits. */
static inline uint64_t event_field_get(const struct event *event, const struct event_field *field)
{
    const void *from = event_field_place(event, field);
    uint64_t value = 0;
    switch (field->bytes) {
    case 1:
        value = *(const uint8_t *)from;
        break;
    case 2:
        value = *(const uint16_t *)from;
        break;
    case 4:
        value = field->is_signed ? (uint64_t)(int64_t) * (const int32_t *)from : *(const uint32_t *)from;
        break;
    default:
        memcpy(&value, from, sizeof value);
        break;
    }
    return value;
}

/* False when the field cannot hold the value. */
static inline bool event_field_set(struct event *event, const struct event_field *field, uint64_t value)
{
    char *to = (char *)event + field->offset;
    if (field->bits < 64 && (field->is_signed ? value + (UINT64_C(1) << (field->bits - 1)) : value) >> field->bits)
        return false;
    switch (field->bytes) {
    case 1:
        *(uint8_t *)to = (uint8_t)value;
        break;
    case 2:
        *(uint16_t *)to = (uint16_t)value;
        break;
    case 4:
        *(uint32_t *)to = (uint32_t)value;
        break;
    default:
        memcpy(to, &value, sizeof value);
        break;
    }
    return true;
}

/* The count of a field with several elements, which is at `other`. */
static inline unsigned event_field_count(const struct event *event, const struct event_field *field)
{
    const char *from = (const char *)event + field->other;
    unsigned count = event_field_has_words(field) ? *(const uint16_t *)(const void *)from : *(const uint8_t *)from;
    return count < field->most ? count : field->most;
}

static inline void event_field_set_count(struct event *event, const struct event_field *field, unsigned count)
{
    char *to = (char *)event + field->other;
    if (event_field_has_words(field))
        *(uint16_t *)(void *)to = (uint16_t)count;
    else
        *(uint8_t *)to = (uint8_t)count;
}
