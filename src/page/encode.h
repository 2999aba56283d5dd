/* page/encode.h - bytes as a page can carry them: deflated (zlib, RFC 1950) and in base64. */
#pragma once

#include "base/error.h"
#include "page/container.h"

/* The caller frees `packed`. */
int encode_deflate(const struct container_bytes *bytes, struct container_bytes *packed, struct error *err);

/* How many characters base64 takes. */
size_t encode_base64_size(size_t size);

/* On one line, with padding. Whether the stream took it is for its owner to ask. */
void encode_base64(const struct container_bytes *bytes, FILE *out);
