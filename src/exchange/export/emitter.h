/* exchange/export/emitter.h - text and bytes to a stream, a million lines a second: numbers without printf, names made fit
 * for the format that they go into. Names come from the recorded program and are hostile: each of these writes any of
 * them so that its reader gets one name back, and nothing else. */
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { EMIT_ROOM = 1 << 16 };

struct emit {
    FILE *out;
    size_t used;
    char room[EMIT_ROOM];
};

struct emit *emit_new(FILE *out);
void emit_free(struct emit *emit); /* what is still held goes to the stream; its errors are the stream's */
void emit_flush(struct emit *emit);

void emit_bytes(struct emit *emit, const void *bytes, size_t size);
void emit_number(struct emit *emit, uint64_t number);
void emit_integer(struct emit *emit, int64_t number);
void emit_hex(struct emit *emit, uint64_t number); /* 0x7f12 */
/* With 9 decimals in seconds, 1.000000042; with 6 in milliseconds. */
void emit_nanoseconds(struct emit *emit, uint64_t nanoseconds, unsigned decimals);

static inline void emit_char(struct emit *emit, char c)
{
    if (emit->used == EMIT_ROOM)
        emit_flush(emit);
    emit->room[emit->used++] = c;
}

static inline void emit_text(struct emit *emit, const char *text) /* as it is */
{
    emit_bytes(emit, text, strlen(text));
}

/* A copy with U+FFFD for each byte that is no UTF-8; the caller frees it. */
char *emit_utf8(const char *text);

void emit_json(struct emit *emit, const char *text); /* with its quotes */
void emit_csv(struct emit *emit, const char *text);  /* RFC 4180: with quotes where it needs them */
void emit_line(struct emit *emit, const char *text); /* safe for terminals (base/text.h): never a newline or a tab */
