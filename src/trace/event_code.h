/* trace/event_code.h - fields of events to columns of a run and back, as their rows say (trace/event_rows.h). Private to src/trace.
 *
 * Whatever the bytes are, decoding ends in an event whose fields are in range, or in false. Inline, so that a row which
 * is a constant gets code of its own. */
#pragma once

#include "trace/event_rows.h"
#include "trace/run_code.h"

static ALWAYS_INLINE bool field_has_parts(const struct event_field *fields, unsigned count, unsigned i)
{
    return i + 1 < count && fields[i + 1].code == CODE_PART;
}

static ALWAYS_INLINE uint64_t field_other(const struct event *event, const struct event_field *field)
{
    uint64_t other;
    memcpy(&other, (const char *)event + field->other, sizeof other);
    return other;
}

/* Chains share their outer ends: how many frames do, then only the others. */
static ALWAYS_INLINE void put_frames(struct trace_run *run, unsigned column, const uint64_t *frames, unsigned depth)
{
    unsigned old = run->state.word_count, shared = 0;
    while (shared < depth && shared < old && run->words[old - 1 - shared] == frames[depth - 1 - shared])
        shared++;
    run_reserve(run, column + 1, (size_t)depth * VARINT_MAX);
    put(run, column, depth);
    put(run, column, shared);
    for (unsigned i = 0; i < depth - shared; i++)
        put_difference(run, column + 1, frames[i]);
    if (depth)
        memcpy(run->words, frames, depth * sizeof *frames);
    run->state.word_count = (uint16_t)depth;
    run->room = 0;
}

/* Most masks are the one before. */
static ALWAYS_INLINE void put_mask(struct trace_run *run, unsigned column, const uint64_t *words, unsigned count)
{
    if (count == run->state.word_count && (count == 0 || memcmp(words, run->words, count * sizeof *words) == 0)) {
        put(run, column, 0);
        return;
    }
    run_reserve(run, column, (size_t)(count + 1) * VARINT_MAX);
    put(run, column, count + 1u);
    for (unsigned i = 0; i < count; i++)
        put(run, column, run->words[i] = words[i]);
    run->state.word_count = (uint16_t)count;
    run->room = 0;
}

static ALWAYS_INLINE void put_elements(struct trace_run *run, const struct event *event,
                                       const struct event_field *field)
{
    const void *place = event_field_place(event, field);
    unsigned count = event_field_count(event, field);
    switch (field->code) {
    case CODE_FRAMES:
        put_frames(run, field->column, *(const uint64_t *const *)place, count);
        break;
    case CODE_MASK:
        put_mask(run, field->column, *(const uint64_t *const *)place, count);
        break;
    default:
        put(run, field->column, count);
        run_put_bytes(run, field->column, place, count);
        break;
    }
}

static ALWAYS_INLINE void put_coded(struct trace_run *run, const struct event *event, const struct event_field *field,
                                    uint64_t value)
{
    switch (field->code) {
    case CODE_DIFFERENCE:
    case CODE_ADDRESS:
        put_difference(run, field->column, rotate_right(value, field->rotate));
        break;
    case CODE_REPEATED:
        put_repeat(run, field->column, value);
        break;
    case CODE_RELATIVE:
        put(run, field->column, zigzag(value - field_other(event, field)));
        break;
    default:
        put(run, field->column, value);
        break;
    }
}

static ALWAYS_INLINE void fields_encode(struct trace_run *run, const struct event *event,
                                        const struct event_field *fields, unsigned count)
{
    const struct event_field *first = fields; /* of those that are parts of one number */
    uint64_t value = 0;
    unsigned shift = 0;
#pragma GCC unroll 16
    for (unsigned i = 0; i < count; i++) {
        const struct event_field *field = &fields[i];
        if (field->code == CODE_TEXT) {
            const char *text = *(const char *const *)event_field_place(event, field);
            run_put_bytes(run, field->column, text ? text : "", text ? strlen(text) + 1 : 1);
        } else if (field->code > CODE_TEXT) {
            put_elements(run, event, field);
        } else {
            uint64_t bits = event_field_get(event, field);
            bool is_part = field->code == CODE_PART;
            if (field->is_signed)
                bits = zigzag(bits);
            value = is_part ? value | bits << shift : bits;
            shift = is_part ? shift + field->bits : field->bits;
            first = is_part ? first : field;
            if (!field_has_parts(fields, count, i))
                put_coded(run, event, first, value);
        }
    }
}

static inline bool get_text(struct run_cursor *cursor, unsigned column, const char **text)
{
    const uint8_t *from = cursor->at[column];
    const uint8_t *nul = from < cursor->end[column] ? memchr(from, 0, (size_t)(cursor->end[column] - from)) : NULL;
    if (!nul)
        return false;
    *text = (const char *)from;
    cursor->at[column] = nul + 1;
    return true;
}

static ALWAYS_INLINE bool get_frames(struct run_cursor *cursor, unsigned column, uint64_t *depth)
{
    uint64_t shared, old = cursor->state.word_count;
    if (!get(cursor, column, depth) || !get(cursor, column, &shared) || *depth > TRACE_MAX_FRAMES || shared > *depth ||
        shared > old)
        return false;
    memmove(cursor->words + (*depth - shared), cursor->words + (old - shared), shared * sizeof *cursor->words);
    for (uint64_t i = 0; i < *depth - shared; i++)
        if (!get_difference(cursor, column + 1, &cursor->words[i]))
            return false;
    cursor->state.word_count = (uint16_t)*depth;
    return true;
}

static ALWAYS_INLINE bool get_mask(struct run_cursor *cursor, unsigned column, uint64_t *count)
{
    uint64_t words;
    if (!get(cursor, column, &words) || words > TRACE_MAX_FRAMES + 1)
        return false;
    for (unsigned i = 0; i + 1 < words; i++)
        if (!get(cursor, column, &cursor->words[i]))
            return false;
    if (words)
        cursor->state.word_count = (uint16_t)(words - 1);
    *count = cursor->state.word_count;
    return true;
}

static inline bool get_bytes(struct run_cursor *cursor, unsigned column, uint8_t *to, unsigned most, uint64_t *count)
{
    if (!get(cursor, column, count) || *count > most || *count > (size_t)(cursor->end[column] - cursor->at[column]))
        return false;
    memset(to, 0, most);
    memcpy(to, cursor->at[column], *count);
    cursor->at[column] += *count;
    return true;
}

static ALWAYS_INLINE bool get_elements(struct run_cursor *cursor, struct event *event, const struct event_field *field)
{
    void *place = (char *)event + field->offset;
    uint64_t count;
    bool good;
    if (event_field_has_words(field)) {
        good = field->code == CODE_FRAMES ? get_frames(cursor, field->column, &count)
                                          : get_mask(cursor, field->column, &count);
        *(const uint64_t **)place = cursor->words;
    } else {
        good = get_bytes(cursor, field->column, place, field->most, &count);
    }
    if (good)
        event_field_set_count(event, field, (unsigned)count);
    return good;
}

static ALWAYS_INLINE bool get_coded(struct run_cursor *cursor, const struct event *event,
                                    const struct event_field *field, uint64_t *value)
{
    uint64_t code;
    switch (field->code) {
    case CODE_DIFFERENCE:
    case CODE_ADDRESS:
        if (!get_difference(cursor, field->column, value))
            return false;
        *value = rotate_left(*value, field->rotate);
        return true;
    case CODE_REPEATED:
        return get_repeat(cursor, field->column, value);
    case CODE_RELATIVE:
        if (!get(cursor, field->column, &code))
            return false;
        *value = field_other(event, field) + unzigzag(code);
        return true;
    default:
        return get(cursor, field->column, value);
    }
}

static ALWAYS_INLINE bool fields_decode(struct run_cursor *cursor, struct event *event,
                                        const struct event_field *fields, unsigned count)
{
    uint64_t value = 0;
#pragma GCC unroll 16
    for (unsigned i = 0; i < count; i++) {
        const struct event_field *field = &fields[i];
        if (field->code == CODE_TEXT) {
            if (!get_text(cursor, field->column, (const char **)(void *)((char *)event + field->offset)))
                return false;
            continue;
        }
        if (field->code > CODE_TEXT) {
            if (!get_elements(cursor, event, field))
                return false;
            continue;
        }
        if (field->code != CODE_PART && !get_coded(cursor, event, field, &value))
            return false;
        uint64_t rest = value >> (field->bits & 63);
        if (field_has_parts(fields, count, i))
            value &= (UINT64_C(1) << field->bits) - 1;
        if (!event_field_set(event, field, field->is_signed ? unzigzag(value) : value))
            return false;
        value = rest;
    }
    return true;
}
