#include "exchange/export/emitter.h"

#include "base/mem.h"
#include "base/text.h"

#include <stdbool.h>
#include <stdlib.h>

static const char replacement[] = "\xef\xbf\xbd"; /* U+FFFD, in place of what is no UTF-8 */

struct emit *emit_new(FILE *out)
{
    struct emit *emit = mem_alloc(sizeof *emit);
    emit->out = out;
    emit->used = 0;
    return emit;
}

void emit_flush(struct emit *emit)
{
    fwrite(emit->room, 1, emit->used, emit->out);
    emit->used = 0;
}

void emit_free(struct emit *emit)
{
    emit_flush(emit);
    free(emit);
}

void emit_bytes(struct emit *emit, const void *bytes, size_t size)
{
    if (size > EMIT_ROOM - emit->used) {
        emit_flush(emit);
        if (size > EMIT_ROOM) {
            fwrite(bytes, 1, size, emit->out);
            return;
        }
    }
    memcpy(emit->room + emit->used, bytes, size);
    emit->used += size;
}

void emit_number(struct emit *emit, uint64_t number)
{
    char digits[20];
    size_t at = sizeof digits;
    do
        digits[--at] = (char)('0' + number % 10);
    while (number /= 10);
    emit_bytes(emit, digits + at, sizeof digits - at);
}

void emit_integer(struct emit *emit, int64_t number)
{
    if (number < 0)
        emit_char(emit, '-');
    emit_number(emit, number < 0 ? -(uint64_t)number : (uint64_t)number);
}

void emit_hex(struct emit *emit, uint64_t number)
{
    char digits[18];
    size_t at = sizeof digits;
    do
        digits[--at] = "0123456789abcdef"[number & 15];
    while (number >>= 4);
    digits[--at] = 'x';
    digits[--at] = '0';
    emit_bytes(emit, digits + at, sizeof digits - at);
}

void emit_nanoseconds(struct emit *emit, uint64_t nanoseconds, unsigned decimals)
{
    char digits[20];
    size_t at = sizeof digits;
    for (; decimals > 0; decimals--, nanoseconds /= 10)
        digits[--at] = (char)('0' + nanoseconds % 10);
    digits[--at] = '.';
    emit_number(emit, nanoseconds);
    emit_bytes(emit, digits + at, sizeof digits - at);
}

char *emit_utf8(const char *text)
{
    size_t most = sizeof replacement - 1;
    char *valid = mem_alloc(strlen(text) * most + 1), *out = valid;
    while (*text) {
        uint32_t code;
        unsigned length = text_utf8(text, &code);
        memcpy(out, length ? text : replacement, length ? length : most);
        out += length ? length : most;
        text += length ? length : 1;
    }
    *out = '\0';
    return valid;
}

/* Nearly all names are: then there is nothing to look at one by one. `one` and `other`: characters that the format gives a
 * meaning. */
static bool is_plain(const char *text, char one, char other)
{
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c < 0x20 || c >= 0x7f || *text == one || *text == other)
            return false;
    }
    return true;
}

void emit_json(struct emit *emit, const char *text)
{
    bool plain = is_plain(text, '"', '\\');
    emit_char(emit, '"');
    if (plain)
        emit_text(emit, text);
    while (!plain && *text) {
        uint32_t code = 0;
        unsigned length = text_utf8(text, &code);
        if (length == 0) {
            emit_text(emit, replacement);
        } else if (code == '"' || code == '\\') {
            emit_char(emit, '\\');
            emit_char(emit, (char)code);
        } else if (code < 0x20 || (code >= 0x7f && code < 0xa0) || (code < 0x10000 && text_deceives(code))) {
            char escape[8];
            snprintf(escape, sizeof escape, "\\u%04x", code & 0xffff);
            emit_text(emit, escape);
        } else {
            emit_bytes(emit, text, length);
        }
        text += length ? length : 1;
    }
    emit_char(emit, '"');
}

void emit_csv(struct emit *emit, const char *text)
{
    if (*text != ' ' && is_plain(text, '"', ',') && !(*text && text[strlen(text) - 1] == ' ')) {
        emit_text(emit, text);
        return;
    }
    bool quoted = strpbrk(text, "\",\r\n") || *text == ' ' || (*text && text[strlen(text) - 1] == ' ');
    if (quoted)
        emit_char(emit, '"');
    while (*text) {
        uint32_t code = 0;
        unsigned length = text_utf8(text, &code);
        if (length == 0)
            emit_text(emit, replacement);
        else
            emit_bytes(emit, text, length);
        if (code == '"')
            emit_char(emit, '"');
        text += length ? length : 1;
    }
    if (quoted)
        emit_char(emit, '"');
}

void emit_line(struct emit *emit, const char *text)
{
    if (is_plain(text, '\n', '\n')) {
        emit_text(emit, text);
        return;
    }
    char *safe = text_safe(text);
    emit_text(emit, safe);
    free(safe);
}
