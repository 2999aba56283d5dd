/* exchange/export/protobuf.h - messages of protocol buffers, put together in memory: varints and what has a length. Field
 * numbers are the callers'. */
#pragma once

#include "base/array.h"

#include <stdint.h>
#include <stdio.h>

struct protobuf { /* zeroed = empty and ready; array_free() */
    uint8_t *items;
    size_t count, capacity;
};

void protobuf_number(struct protobuf *message, unsigned field, uint64_t number); /* also when it is 0 */
void protobuf_double(struct protobuf *message, unsigned field, double number);
void protobuf_text(struct protobuf *message, unsigned field, const char *text); /* U+FFFD for what is no UTF-8 */
void protobuf_message(struct protobuf *message, unsigned field, const struct protobuf *inner);
void protobuf_raw(struct protobuf *message, uint64_t number); /* of a packed field: without a tag */

/* To the stream, as a field of the outermost message, and empty again. */
void protobuf_flush(struct protobuf *message, unsigned field, FILE *out);
