#include "exchange/export/protobuf.h"

#include "exchange/export/emitter.h"

#include <string.h>

enum { VARINT = 0, FIXED64 = 1, LENGTH = 2, VARINT_MOST = 10 };

static size_t varint(uint8_t bytes[VARINT_MOST], uint64_t number)
{
    size_t size = 0;
    for (; number >= 0x80; number >>= 7)
        bytes[size++] = (uint8_t)(number | 0x80);
    bytes[size++] = (uint8_t)number;
    return size;
}

static void put(struct protobuf *message, const void *bytes, size_t size)
{
    array_reserve(message, message->count + size);
    if (size)
        memcpy(message->items + message->count, bytes, size);
    message->count += size;
}

void protobuf_raw(struct protobuf *message, uint64_t number)
{
    uint8_t bytes[VARINT_MOST];
    size_t size = varint(bytes, number);
    put(message, bytes, size);
}

static void put_tag(struct protobuf *message, unsigned field, unsigned type)
{
    protobuf_raw(message, (uint64_t)field << 3 | type);
}

void protobuf_number(struct protobuf *message, unsigned field, uint64_t number)
{
    put_tag(message, field, VARINT);
    protobuf_raw(message, number);
}

void protobuf_double(struct protobuf *message, unsigned field, double number)
{
    uint64_t bits;
    uint8_t bytes[8];
    memcpy(&bits, &number, sizeof bits);
    for (unsigned i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(bits >> 8 * i);
    put_tag(message, field, FIXED64);
    put(message, bytes, sizeof bytes);
}

void protobuf_text(struct protobuf *message, unsigned field, const char *text)
{
    char *valid = emit_utf8(text);
    size_t size = strlen(valid);
    put_tag(message, field, LENGTH);
    protobuf_raw(message, size);
    put(message, valid, size);
    free(valid);
}

void protobuf_message(struct protobuf *message, unsigned field, const struct protobuf *inner)
{
    put_tag(message, field, LENGTH);
    protobuf_raw(message, inner->count);
    put(message, inner->items, inner->count);
}

void protobuf_flush(struct protobuf *message, unsigned field, FILE *out)
{
    uint8_t head[2 * VARINT_MOST];
    size_t size = varint(head, (uint64_t)field << 3 | LENGTH);
    size += varint(head + size, message->count);
    fwrite(head, 1, size, out);
    fwrite(message->items, 1, message->count, out);
    message->count = 0;
}
